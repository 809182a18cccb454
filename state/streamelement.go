package state

import "github.com/statebridge/statebridge/state/javaio"

// A streamElementCodec reads a record in flight, as operators buffer it, or a watermark among such records: a tag, and what the tag says.
type streamElementCodec struct {
	typ   Type
	value Codec
}

func newStreamElement(nested []Codec) Codec {
	fields := []Field{{"timestamp", &Type{Kind: Int64, Nullable: true}}, {"value", nested[0].Type()}}
	return &streamElementCodec{Type{Kind: Object, Class: "StreamRecord", Fields: fields}, nested[0]}
}

func (c *streamElementCodec) Type() *Type   { return &c.typ }
func (c *streamElementCodec) FixedLen() int { return -1 }

const (
	recordWithTimestamp    = 0
	recordWithoutTimestamp = 1
	watermark              = 2
)

func (c *streamElementCodec) Skip(r *javaio.Reader) {
	switch tag := r.Uint8(); tag {
	case recordWithTimestamp:
		r.Skip(8)
		c.value.Skip(r)
	case recordWithoutTimestamp:
		c.value.Skip(r)
	case watermark:
		r.Skip(8)
	default:
		c.refuse(r, tag)
	}
}

func (c *streamElementCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	switch tag := r.Uint8(); tag {
	case recordWithTimestamp:
		dst = int64Codec.json(append(dst, `{"timestamp":`...), r)
	case recordWithoutTimestamp:
		dst = append(dst, `{"timestamp":null`...)
	case watermark:
		return append(int64Codec.json(append(dst, `{"watermark":`...), r), '}')
	default:
		c.refuse(r, tag)
		return appendNull(dst)
	}
	return append(c.value.AppendJSON(append(dst, `,"value":`...), r), '}')
}

func (c *streamElementCodec) refuse(r *javaio.Reader, tag byte) {
	r.Unsupported("a stream element of tag %d, which is neither a record nor a watermark", tag)
}
