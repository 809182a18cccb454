package state

import (
	"github.com/statebridge/statebridge/state/javaio"
	"github.com/statebridge/statebridge/state/javaobj"
)

// Values that are not decoded, but whose end is known: they come out raw, and what follows them can be read.

// framed makes a codec of such values; skip steps over one.
func framed(class, why string, skip func(r *javaio.Reader)) Codec {
	typ := Type{Kind: Raw, Class: class, Why: why}
	return &scalar{typ: typ, size: -1, width: -1, skip: skip, json: func(dst []byte, r *javaio.Reader) []byte {
		b, n := r.Rest(), r.Len()
		if skip(r); r.Err() != nil {
			return appendNull(dst)
		}
		return appendRaw(dst, b[:n-r.Len()], class, why)
	}}
}

var (
	// variantCodec reads two lengths, then the value and its metadata.
	variantCodec = framed("org.apache.flink.types.variant.Variant", "a VARIANT", func(r *javaio.Reader) {
		value, metadata := int(r.Int32()), int(r.Int32())
		r.Skip(value)
		r.Skip(metadata)
	})
	bitmapCodec = framed("org.apache.flink.types.bitmap.Bitmap", "a BITMAP", func(r *javaio.Reader) { r.Skip(r.Count(1)) })
	// javaCodec reads what Java serialization wrote.
	javaCodec = framed("java.io.Serializable", "an object in Java serialization", func(r *javaio.Reader) { javaobj.Parse(r) })
	// nullValueCodec's values take no bytes.
	nullValueCodec = &scalar{typ: Type{Kind: Null}, size: 0, width: 0, json: func(dst []byte, _ *javaio.Reader) []byte { return appendNull(dst) }}
)
