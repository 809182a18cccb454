package stream

import (
	"encoding/json"
	"fmt"
	"time"
)

// SnapshotRef names a snapshot well enough to find and recognise it again.
type SnapshotRef struct {
	Job          string `json:"job,omitempty"`
	CheckpointID int64  `json:"checkpoint_id"`
	Location     string `json:"location"`
	Savepoint    bool   `json:"savepoint,omitempty"`
}

// Column is one column of a consumer's rows.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Key  bool   `json:"key,omitempty"`
}

// Counts says how many changes of each operation there are.
type Counts struct {
	R uint64 `json:"r"`
	C uint64 `json:"c"`
	U uint64 `json:"u"`
	D uint64 `json:"d"`
}

// Total is the number of changes.
func (c Counts) Total() uint64 { return c.R + c.C + c.U + c.D }

func (c *Counts) add(op byte) bool {
	switch op {
	case 'r':
		c.R++
	case 'c':
		c.C++
	case 'u':
		c.U++
	case 'd':
		c.D++
	default:
		return false
	}
	return true
}

func (c *Counts) merge(o Counts) {
	c.R += o.R
	c.C += o.C
	c.U += o.U
	c.D += o.D
}

// Epoch is the record of one published epoch. Given to Publisher.Begin, only the members up to Step are read.
type Epoch struct {
	Full       bool         `json:"full"`             // holds every row, so that a row which it lacks is no longer there
	Resync     bool         `json:"resync,omitempty"` // full because somebody asked
	Base       *SnapshotRef `json:"base"`             // what the changes are relative to; nil for a full epoch
	Snapshot   SnapshotRef  `json:"snapshot"`
	Columns    []Column     `json:"columns"`
	Partitions int          `json:"partitions"`
	Operator   string       `json:"operator"`
	State      string       `json:"state"`
	Step       uint64       `json:"step,omitempty"` // number of the feed's step, which every consumer that it led to the snapshot has; it grows from epoch to epoch

	Source     string    `json:"source"`
	Consumer   string    `json:"consumer"`
	Chain      string    `json:"chain"`                // random, made with the consumer's first epoch and carried on: a history that was lost, or may have been, is followed by another chain
	Number     uint64    `json:"number"`               // 1, 2, 3, …, across chains
	Start      uint64    `json:"start"`                // number of the newest full epoch up to this one
	Attempt    string    `json:"attempt"`              // random, one for each Begin
	Previous   string    `json:"previous,omitempty"`   // attempt of the epoch before
	Generation string    `json:"generation,omitempty"` // of the embedded server's store
	FirstSeq   uint64    `json:"first_seq"`            // stream sequence of the first begin line
	LastSeq    uint64    `json:"last_seq"`             // stream sequence of the deciding commit line: every change lies between
	Counts     Counts    `json:"counts"`
	Shares     []Counts  `json:"shares"`         // Counts of each partition
	Rows       *uint64   `json:"rows,omitempty"` // that whoever has applied it holds; nil where the epochs before it do not say
	Time       time.Time `json:"time"`
}

// String gives "accounts/7", for logs and errors.
func (e Epoch) String() string { return fmt.Sprintf("%s/%d", e.Consumer, e.Number) }

// SameStep says whether two consumers were led to the same snapshot in one step of their feed.
func (e Epoch) SameStep(o Epoch) bool { return e.Step == o.Step && e.Snapshot == o.Snapshot }

// rowsAfter is what the counts make of the rows of the epoch before; nil when these are not known.
func (e Epoch) rowsAfter(before *uint64) *uint64 {
	if e.Full {
		n := e.Counts.R + e.Counts.C
		return &n
	}
	if before == nil || *before+e.Counts.C < e.Counts.D {
		return nil
	}
	n := *before + e.Counts.C - e.Counts.D
	return &n
}

func (e Epoch) kind() string {
	if e.Full {
		return "full"
	}
	return "delta"
}

func decodeEpoch(b []byte) (Epoch, error) {
	var e Epoch
	if err := json.Unmarshal(b, &e); err != nil {
		return Epoch{}, fmt.Errorf("epoch record: %w", err)
	}
	return e, e.check()
}

func (e Epoch) check() error {
	switch {
	case e.Number == 0, e.Attempt == "", e.Chain == "", e.Start == 0, e.Start > e.Number, e.Full != (e.Start == e.Number):
		return fmt.Errorf("epoch record of consumer %q, number %d: does not say what it is", e.Consumer, e.Number)
	case e.Partitions <= 0, len(e.Shares) != e.Partitions, e.FirstSeq > e.LastSeq:
		return fmt.Errorf("epoch record of consumer %q, number %d: does not say what it holds", e.Consumer, e.Number)
	}
	return nil
}
