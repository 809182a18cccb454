package flink

import (
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// ChannelHandle points to network buffers that were in flight when an unaligned checkpoint was taken. They are records
// on their way and no state.
type ChannelHandle struct {
	Subtask  int
	Size     int64
	Stream   *StreamHandle
	Channels []Channel // one, but for merged handles
}

// Channel is one channel of a ChannelHandle.
type Channel struct {
	Gate, Index int // of an input; of an output the partition and the subpartition
	Size        int64
	Offsets     []int64
}

// Type bytes of version 6.
const (
	channelInput        = 1
	channelOutput       = 2
	channelMergedInput  = 3
	channelMergedOutput = 4
)

func (r *metadataReader) channel() ChannelHandle {
	if r.version >= 6 {
		switch kind := r.Uint8(); kind {
		case channelInput, channelOutput:
		case channelMergedInput, channelMergedOutput:
			return r.mergedChannels()
		default:
			r.Unsupported("unknown type %d of a channel state handle", kind)
		}
	}
	h := ChannelHandle{Subtask: int(r.Int32())}
	c := Channel{Gate: int(r.Int32()), Index: int(r.Int32())}
	c.Offsets = r.offsets(r.Count(8))
	c.Size = r.size("size")
	h.Size, h.Channels = c.Size, []Channel{c}
	h.Stream = r.someStream("channel state")
	return h
}

func (r *metadataReader) mergedChannels() ChannelHandle {
	h := ChannelHandle{Subtask: int(r.Int32()), Size: r.size("size"), Stream: r.someStream("channel state")}
	at := r.Offset() + 4
	in := metadataReader{Reader: javaio.NewReader(r.File(), at, r.Take(r.Count(1))), version: r.version}
	h.Channels = list(&in, minChannel, func() Channel {
		c := Channel{Gate: int(in.Int32()), Index: int(in.Int32()), Size: in.size("size")}
		c.Offsets = in.offsets(in.Count(8))
		return c
	})
	in.End()
	if r.Err() == nil && in.Err() != nil {
		r.SetErr(fault.Corrupt(r.File(), in.Offset(), "merged channels: %v", in.Err()))
	}
	return h
}
