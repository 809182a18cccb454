package stream

// Change is one change of one row. Key, Before and After are JSON objects of columns; nil stands for null.
type Change struct {
	Op        byte // 'r' a row of a full epoch, 'c' created, 'u' updated, 'd' deleted
	Key       []byte
	Before    []byte
	After     []byte
	Partition int
	Seq       uint64 // 1, 2, 3, … within the partition and epoch; given by the Writer
}
