package state

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// A flussType and its values are written here as Fluss writes them, from the description of the formats, to be read back.
type flussType struct {
	name   string // INT, DECIMAL, ARRAY, …
	n, s   int    // length or precision, scale
	parts  []flussType
	fields []string
}

func (f flussType) String() string {
	var parts []string
	for i, p := range f.parts {
		text := p.String()
		if f.name == "ROW" {
			text = "`" + strings.ReplaceAll(f.fields[i], "`", "``") + "` " + text
		}
		parts = append(parts, text)
	}
	switch f.name {
	case "ARRAY", "MAP", "ROW":
		return f.name + "<" + strings.Join(parts, ", ") + ">"
	case "DECIMAL":
		return fmt.Sprintf("DECIMAL(%d, %d)", f.n, f.s)
	case "CHAR", "BINARY", "TIMESTAMP", "TIMESTAMP_LTZ", "TIME":
		return fmt.Sprintf("%s(%d)", f.name, f.n)
	}
	return f.name
}

type moment struct {
	ms    int64
	nanos int64
}

var flussScalars = []string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "CHAR", "STRING", "BINARY", "BYTES", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"}

func drawFlussType(t *rapid.T, depth int) flussType {
	names := flussScalars
	if depth > 0 {
		names = append([]string{"ARRAY", "MAP", "ROW"}, flussScalars...)
	}
	f := flussType{name: rapid.SampledFrom(names).Draw(t, "type")}
	switch f.name {
	case "CHAR", "BINARY":
		f.n = rapid.IntRange(1, 9).Draw(t, "length")
	case "DECIMAL":
		f.n = rapid.SampledFrom([]int{1, 5, 18, 19, 38}).Draw(t, "precision")
		f.s = rapid.IntRange(0, f.n).Draw(t, "scale")
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		f.n = rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "precision")
	case "ARRAY":
		f.parts = []flussType{drawFlussType(t, depth-1)}
	case "MAP":
		f.parts = []flussType{{name: rapid.SampledFrom([]string{"STRING", "INT", "BIGINT"}).Draw(t, "key")}, drawFlussType(t, depth-1)}
	case "ROW":
		for i := range rapid.IntRange(0, 9).Draw(t, "columns") {
			f.parts = append(f.parts, drawFlussType(t, depth-1))
			f.fields = append(f.fields, fmt.Sprintf("c%d`\"ü", i))
		}
	}
	return f
}

// draw draws a value; nil is null.
func (f flussType) draw(t *rapid.T, nullable bool) any {
	if nullable && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil
	}
	switch f.name {
	case "BOOLEAN":
		return rapid.Bool().Draw(t, "bool")
	case "TINYINT":
		return int64(rapid.Int8().Draw(t, "tiny"))
	case "SMALLINT":
		return int64(rapid.Int16().Draw(t, "small"))
	case "INT":
		return int64(rapid.Int32().Draw(t, "int"))
	case "BIGINT":
		return rapid.Int64().Draw(t, "big")
	case "FLOAT":
		return float64(rapid.Float32().Draw(t, "float"))
	case "DOUBLE":
		return rapid.Float64().Draw(t, "double")
	case "CHAR":
		return rapid.StringMatching(fmt.Sprintf(`[a-z]{0,%d}`, f.n)).Draw(t, "char")
	case "STRING":
		return rapid.String().Draw(t, "string")
	case "BINARY":
		return rapid.SliceOfN(rapid.Byte(), f.n, f.n).Draw(t, "binary")
	case "BYTES":
		return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")
	case "DECIMAL":
		digits := rapid.StringMatching(fmt.Sprintf(`-?[0-9]{1,%d}`, f.n)).Draw(t, "decimal")
		v, _ := new(big.Int).SetString(digits, 10)
		return v
	case "DATE":
		return int64(rapid.Int32Range(-1000000, 1000000).Draw(t, "day"))
	case "TIME":
		return int64(rapid.Int32Range(0, 24*3600*1000-1).Draw(t, "time"))
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		m := moment{ms: rapid.Int64Range(-60000000000000, 200000000000000).Draw(t, "ms")}
		if f.n > 3 {
			m.nanos = rapid.SampledFrom([]int64{0, 1, 1000, 999999}).Draw(t, "nanos")
		}
		return m
	}
	return f.drawParts(t)
}

func (f flussType) drawParts(t *rapid.T) any {
	var values []any
	switch f.name {
	case "ARRAY":
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			values = append(values, f.parts[0].draw(t, true))
		}
	case "MAP":
		for i := range rapid.IntRange(0, 4).Draw(t, "n") {
			key := any(int64(i))
			if f.parts[0].name == "STRING" {
				key = strings.Repeat("k", i)
			}
			values = append(values, [2]any{key, f.parts[1].draw(t, true)})
		}
	case "ROW":
		for _, p := range f.parts {
			values = append(values, p.draw(t, true))
		}
	}
	return values
}

// json gives the value as it must be printed.
func (f flussType) json(v any) string {
	quoted := func(s string) string { return string(appendQuoted(nil, s)) }
	if v == nil {
		return "null"
	}
	switch f.name {
	case "FLOAT":
		return string(appendFloat(nil, v.(float64), 32))
	case "DOUBLE":
		return string(appendFloat(nil, v.(float64), 64))
	case "CHAR", "STRING":
		return quoted(v.(string))
	case "BINARY", "BYTES":
		return quoted(base64.StdEncoding.EncodeToString(v.([]byte)))
	case "DECIMAL":
		return quoted(decimalText(v.(*big.Int), f.s))
	case "DATE":
		return string(append(civil(v.(int64)).append([]byte{'"'}), '"'))
	case "TIME":
		return quoted(clockText(time.UnixMilli(v.(int64)).UTC(), false))
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		m := v.(moment)
		at := time.UnixMilli(m.ms).UTC().Add(time.Duration(m.nanos))
		text := string(civil(floorDiv(at.Unix(), secondsPerDay)).append(nil)) + "T" + clockText(at, f.name == "TIMESTAMP_LTZ")
		if f.name == "TIMESTAMP_LTZ" {
			text += "Z"
		}
		return quoted(text)
	case "ARRAY", "MAP", "ROW":
		return f.partsJSON(v.([]any))
	}
	return fmt.Sprint(v)
}

func (f flussType) partsJSON(values []any) string {
	var parts []string
	open, end := "[", "]"
	if f.name == "ROW" || f.name == "MAP" && (f.parts[0].name == "STRING" || len(values) == 0) {
		open, end = "{", "}"
	}
	for i, v := range values {
		switch f.name {
		case "ARRAY":
			parts = append(parts, f.parts[0].json(v))
		case "ROW":
			parts = append(parts, string(appendQuoted(nil, f.fields[i]))+":"+f.parts[i].json(v))
		case "MAP":
			pair := v.([2]any)
			text := f.parts[0].json(pair[0]) + ":" + f.parts[1].json(pair[1])
			if open == "[" {
				text = "[" + f.parts[0].json(pair[0]) + "," + f.parts[1].json(pair[1]) + "]"
			}
			parts = append(parts, text)
		}
	}
	return open + strings.Join(parts, ",") + end
}

func decimalText(v *big.Int, scale int) string {
	digits := new(big.Int).Abs(v).String()
	if scale > 0 {
		digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if v.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}

// clockText is java.time's text of a time.
func clockText(at time.Time, seconds bool) string {
	switch n := at.Nanosecond(); {
	case n == 0 && at.Second() == 0 && !seconds:
		return at.Format("15:04")
	case n == 0:
		return at.Format("15:04:05")
	case n%1e6 == 0:
		return at.Format("15:04:05.000")
	case n%1e3 == 0:
		return at.Format("15:04:05.000000")
	}
	return at.Format("15:04:05.000000000")
}

// row writes a row of the form.
func (f flussType) row(values []any, form rowForm) []byte {
	nulls := make([]byte, (len(values)+7)/8)
	var lengths, body []byte
	room := 0
	for i, v := range values {
		p := f.parts[i]
		if form == indexedRow && !p.fixed() {
			room += 4
		}
		if v == nil {
			nulls[i/8] |= 1 << (i % 8)
			continue
		}
		if form == compactedRow {
			body = append(body, p.compacted(v)...)
			continue
		}
		b := p.plain(v, form)
		if p.fixed() {
			b = append(b, make([]byte, max(0, p.n-len(b))*boolInt(p.name == "CHAR"))...)
		} else {
			lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(b)))
		}
		body = append(body, b...)
	}
	lengths = append(lengths, make([]byte, room-len(lengths))...)
	return slices.Concat(nulls, lengths, body)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f flussType) fixed() bool {
	switch f.name {
	case "STRING", "BYTES", "ARRAY", "MAP", "ROW":
		return false
	}
	return f.name != "DECIMAL" || f.n <= 18
}

// compacted writes a value of a compacted row, or of a compacted key.
func (f flussType) compacted(v any) []byte {
	switch f.name {
	case "INT", "DATE", "TIME":
		return binary.AppendUvarint(nil, uint64(uint32(v.(int64))))
	case "BIGINT":
		return binary.AppendUvarint(nil, uint64(v.(int64)))
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		b := binary.AppendUvarint(nil, uint64(v.(moment).ms))
		if f.n > 3 {
			b = binary.AppendUvarint(b, uint64(v.(moment).nanos))
		}
		return b
	case "DECIMAL":
		if f.n <= 18 {
			return binary.AppendUvarint(nil, uint64(v.(*big.Int).Int64()))
		}
	case "BOOLEAN", "TINYINT", "SMALLINT", "FLOAT", "DOUBLE":
		return f.plain(v, compactedRow)
	}
	b := f.plain(v, compactedRow)
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

// plain writes a value with its own width, or bytes without a length.
func (f flussType) plain(v any, form rowForm) []byte {
	le := binary.LittleEndian
	switch f.name {
	case "BOOLEAN":
		return []byte{byte(boolInt(v.(bool)))}
	case "TINYINT":
		return []byte{byte(v.(int64))}
	case "SMALLINT":
		return le.AppendUint16(nil, uint16(v.(int64)))
	case "INT", "DATE", "TIME":
		return le.AppendUint32(nil, uint32(v.(int64)))
	case "BIGINT":
		return le.AppendUint64(nil, uint64(v.(int64)))
	case "FLOAT":
		return le.AppendUint32(nil, math.Float32bits(float32(v.(float64))))
	case "DOUBLE":
		return le.AppendUint64(nil, math.Float64bits(v.(float64)))
	case "CHAR", "STRING":
		return []byte(v.(string))
	case "BINARY", "BYTES":
		return v.([]byte)
	case "DECIMAL":
		if f.n <= 18 {
			return le.AppendUint64(nil, uint64(v.(*big.Int).Int64()))
		}
		return javaBytes(v.(*big.Int))
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		b := le.AppendUint64(nil, uint64(v.(moment).ms))
		if f.n > 3 {
			b = le.AppendUint32(b, uint32(v.(moment).nanos))
		}
		return b
	case "ROW":
		return f.row(v.([]any), form)
	case "ARRAY":
		return f.parts[0].array(v.([]any), form)
	}
	var keys, values []any
	for _, pair := range v.([]any) {
		keys, values = append(keys, pair.([2]any)[0]), append(values, pair.([2]any)[1])
	}
	k := f.parts[0].array(keys, form)
	return slices.Concat(le.AppendUint32(nil, uint32(len(k))), k, f.parts[1].array(values, form))
}

// javaBytes is BigInteger.toByteArray.
func javaBytes(v *big.Int) []byte {
	for n := 1; ; n++ {
		limit := new(big.Int).Lsh(big.NewInt(1), uint(8*n-1))
		if v.Cmp(limit) < 0 && v.Cmp(new(big.Int).Neg(limit)) >= 0 {
			if v.Sign() < 0 {
				v = new(big.Int).Add(v, new(big.Int).Lsh(limit, 1))
			}
			return v.FillBytes(make([]byte, n))
		}
	}
}

// array writes a BinaryArray of elements of type f.
func (f flussType) array(values []any, form rowForm) []byte {
	le, width := binary.LittleEndian, 8
	switch f.name {
	case "BOOLEAN", "TINYINT":
		width = 1
	case "SMALLINT":
		width = 2
	case "INT", "FLOAT", "DATE", "TIME":
		width = 4
	}
	head := 4 + (len(values)+31)/32*4
	b := make([]byte, (head+width*len(values)+7)/8*8)
	le.PutUint32(b, uint32(len(values)))
	for i, v := range values {
		at := head + width*i
		if v == nil {
			b[4+i/8] |= 1 << (i % 8)
			continue
		}
		plain := f.plain(v, form)
		switch {
		case f.name == "TIMESTAMP" && f.n > 3, f.name == "TIMESTAMP_LTZ" && f.n > 3:
			le.PutUint64(b[at:], uint64(len(b))<<32|uint64(v.(moment).nanos))
			b = append(b, plain[:8]...)
		case f.fixed() && f.name != "CHAR" && f.name != "BINARY":
			copy(b[at:], plain)
		case f.name == "DECIMAL":
			le.PutUint64(b[at:], uint64(len(b))<<32|uint64(len(plain)))
			b = append(append(b, plain...), make([]byte, 16-len(plain))...)
		case len(plain) <= 7 && (f.name == "CHAR" || f.name == "STRING" || f.name == "BINARY" || f.name == "BYTES"):
			copy(b[at:], plain)
			b[at+7] = 0x80 | byte(len(plain))
		default:
			le.PutUint64(b[at:], uint64(len(b))<<32|uint64(len(plain)))
			b = append(append(b, plain...), make([]byte, (8-len(plain)%8)%8)...)
		}
	}
	return b
}

// schemaFile writes a schema file of one schema.
func schemaFile(f flussType, more map[string]any) []byte {
	var columns []map[string]string
	for i, p := range f.parts {
		columns = append(columns, map[string]string{"name": f.fields[i], "type": p.String()})
	}
	more["schemas"] = map[string]any{"1": columns}
	b, err := json.Marshal(more)
	if err != nil {
		panic(err)
	}
	return b
}
