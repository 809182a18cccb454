package flink

import "encoding/hex"

// Operator is the state of one operator of the job.
type Operator struct {
	ID             string // 32 hex digits
	Name, UID      string // version 5 and up, where the job set them
	Parallelism    int
	MaxParallelism int           // the number of key groups
	Finished       bool          // every subtask had ended: the operator has no state any more
	Coordinator    *StreamHandle // nil if none
	Subtasks       []Subtask     // in no set order; not all need be there
}

// Subtask is the state of one parallel instance of an operator.
type Subtask struct {
	Index                         int
	Finished                      bool            // it had ended and has no state
	ManagedOperator, RawOperator  *OperatorHandle // nil if none
	ManagedKeyed, RawKeyed        KeyedHandle     // nil if none
	InputChannels, OutputChannels []ChannelHandle // buffers in flight, of unaligned checkpoints
}

// maxKeyGroups is Flink's own bound of a job's max parallelism.
const maxKeyGroups = 1 << 15

func (r *metadataReader) operator() Operator {
	var o Operator
	if r.version >= 5 {
		o.Name, o.UID = r.UTF(), r.UTF()
	}
	o.ID = hex.EncodeToString(r.Take(16))
	o.Parallelism = int(r.Int32())
	o.MaxParallelism = int(r.Int32())
	if r.version >= 3 {
		o.Coordinator = r.stream()
	} else {
		r.Int32() // length of the operator chain, always 1
	}
	if r.Err() == nil && (o.MaxParallelism < 0 || o.MaxParallelism > maxKeyGroups) {
		r.Fail("operator %s: max parallelism %d", o.ID, o.MaxParallelism)
	}
	r.subtasks(&o)
	return o
}

func (r *metadataReader) subtasks(o *Operator) {
	if rest := r.Rest(); r.version >= 3 && len(rest) >= 4 && rest[0]&0x80 != 0 {
		if n := r.Int32(); n != -1 {
			r.Fail("operator %s: %d subtasks", o.ID, n)
		}
		o.Finished = true
		return
	}
	o.Subtasks = list(r, minSubtask, func() Subtask {
		s := r.subtask()
		for _, h := range []KeyedHandle{s.ManagedKeyed, s.RawKeyed} {
			if h != nil && h.KeyGroupRange().Last >= o.MaxParallelism {
				r.Fail("operator %s: key groups %s of max parallelism %d", o.ID, h.KeyGroupRange(), o.MaxParallelism)
			}
		}
		return s
	})
}

func (r *metadataReader) subtask() Subtask {
	s := Subtask{Index: int(r.Int32())}
	if s.Index < 0 {
		if r.version < 3 {
			r.Fail("subtask %d", s.Index)
		}
		s.Index, s.Finished = -s.Index-1, true
		return s
	}
	if r.version == 2 {
		r.Int64() // duration, always -1
		if n := r.Int32(); n != 0 {
			r.Unsupported("state of Flink 1.1 in subtask %d is not supported", s.Index)
		}
	}
	s.ManagedOperator = r.optionalOperatorHandle()
	s.RawOperator = r.optionalOperatorHandle()
	s.ManagedKeyed = r.keyed(0)
	s.RawKeyed = r.keyed(0)
	if r.version >= 3 {
		s.InputChannels = list(r, minChannel, r.channel)
		s.OutputChannels = list(r, minChannel, r.channel)
	}
	return s
}

func (r *metadataReader) optionalOperatorHandle() *OperatorHandle {
	switch n := r.Int32(); n {
	case 0:
	case 1:
		return r.operatorHandle()
	default:
		r.Fail("%d operator state handles where 0 or 1 can stand", n)
	}
	return nil
}
