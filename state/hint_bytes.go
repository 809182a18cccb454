package state

import (
	"encoding/hex"
	"errors"
	"unicode/utf8"

	"github.com/statebridge/statebridge/state/javaio"
)

// appendValue decodes the bytes of one value. What does not fit the hint comes out raw, with the reason.
func (h *hint) appendValue(dst, b []byte) []byte {
	out, err := h.decode(dst, b)
	if err != nil {
		return appendRaw(dst, b, h.Class, "hint "+h.Form+": "+err.Error())
	}
	return out
}

// A sizedCodec reads a length, then bytes that a hint decodes.
type sizedCodec struct{ hint *hint }

func (c *sizedCodec) Type() *Type   { return c.hint.typ }
func (c *sizedCodec) FixedLen() int { return -1 }

func (c *sizedCodec) take(r *javaio.Reader) []byte {
	if c.hint.Frame == "int32" {
		return r.Take(r.Count(1))
	}
	n := r.Uvarint()
	if r.Err() == nil && n > uint64(r.Len()) {
		r.Fail("%d bytes wanted, %d left", n, r.Len())
	}
	return r.Take(int(n))
}

func (c *sizedCodec) Skip(r *javaio.Reader) { c.take(r) }

func (c *sizedCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	b := c.take(r)
	if r.Err() != nil {
		return appendNull(dst)
	}
	return c.hint.appendValue(dst, b)
}

const unsizedReason = "where its bytes end is not known here; a hint with int32: or varint: says how they are framed"

// raw makes the codec of a class that is not decoded, or that a hint decodes.
func (p *snapshots) raw(class, why string) Codec {
	h := p.o.Hints.bytes(class)
	switch {
	case h == nil:
		return newRaw(class, why)
	case h.Frame != "":
		return &sizedCodec{h}
	}
	return &raw{typ: Type{Kind: Raw, Class: class, Why: unsizedReason}, hint: h}
}

// A wholeCodec can make more of a value when it takes all the bytes that are left.
type wholeCodec interface {
	Codec
	appendWhole(dst []byte, r *javaio.Reader) []byte
}

// A hintedCodec stands where a value takes all the bytes, as RocksDB has it. Without a frame it faults as any raw codec does.
type hintedCodec struct{ *raw }

func (c hintedCodec) Type() *Type { return c.hint.typ }

func (c hintedCodec) appendWhole(dst []byte, r *javaio.Reader) []byte {
	return c.hint.appendValue(dst, r.Take(r.Len()))
}

// whole gives the codec of a value that takes all the bytes of its frame.
func whole(c Codec) Codec {
	switch c := c.(type) {
	case *raw:
		if c.hint != nil {
			return hintedCodec{c}
		}
	case *ttlCodec:
		return &ttlCodec{whole(c.inner)}
	case *kryoCodec:
		return c.whole()
	}
	return c
}

func appendUTF8(dst, b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		return dst, errors.New("not UTF-8")
	}
	return appendQuoted(dst, b), nil
}

func appendHex(dst, b []byte) ([]byte, error) {
	dst = hex.AppendEncode(append(dst, '"'), b)
	return append(dst, '"'), nil
}
