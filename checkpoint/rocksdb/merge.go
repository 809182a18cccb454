package rocksdb

// delimiter stands between the parts of a merged value, as Flink's stringappendtest operator puts it.
const delimiter = ','

// operands gathers what a merged value is made of. It comes newest first and is put together oldest first. A base counts
// as the oldest operand: the delimiter comes behind it all the same, even if it is empty.
type operands struct {
	buf  []byte // all parts, newest first
	ends []int
	out  []byte
}

func (o *operands) reset() { o.buf, o.ends = o.buf[:0], o.ends[:0] }

func (o *operands) add(part []byte) {
	o.buf = append(o.buf, part...)
	o.ends = append(o.ends, len(o.buf))
}

// fold gives the value, valid until the next one.
func (o *operands) fold() []byte {
	o.out = o.out[:0]
	for i := len(o.ends) - 1; i >= 0; i-- {
		start := 0
		if i > 0 {
			start = o.ends[i-1]
		}
		if i < len(o.ends)-1 {
			o.out = append(o.out, delimiter)
		}
		o.out = append(o.out, o.buf[start:o.ends[i]]...)
	}
	return o.out
}
