package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

func readParquet(t testing.TB, b []byte) (*parquet.File, []parquet.Row) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out []parquet.Row
	for _, g := range f.RowGroups() {
		r := g.Rows()
		for {
			batch := make([]parquet.Row, 16)
			n, err := r.ReadRows(batch)
			for _, row := range batch[:n] {
				out = append(out, row.Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	return f, out
}

// fitting are the rows that Parquet can hold: those without lone surrogates.
func fitting() (out []string) {
	for _, row := range rows {
		if !strings.Contains(row, "lone") && !strings.Contains(row, `\ud800`) {
			out = append(out, row)
		}
	}
	return out
}

func TestParquetGolden(t *testing.T) {
	f, got := readParquet(t, render(t, Parquet, everyType, Options{}, fitting()))
	var b bytes.Buffer
	fmt.Fprintln(&b, f.Schema())
	for _, row := range got {
		for i, v := range row {
			if v.IsNull() {
				continue
			}
			fmt.Fprintf(&b, "%s=%+q ", everyType[i].Name, v.String())
		}
		b.WriteByte('\n')
	}
	golden(t, "every.parquet.txt", b.Bytes())
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			if c.MetaData.Codec.String() != "ZSTD" {
				t.Errorf("column %v is compressed by %s", c.MetaData.PathInSchema, c.MetaData.Codec)
			}
		}
	}
}

func TestParquetEmpty(t *testing.T) {
	f, got := readParquet(t, render(t, Parquet, everyType, Options{}, nil))
	if len(got) != 0 || f.NumRows() != 0 || len(f.Schema().Columns()) != len(everyType) {
		t.Errorf("%d rows, %v", len(got), f.Schema())
	}
}

func TestParquetKeepsOrderAndNames(t *testing.T) {
	columns := []Column{{Name: "z", Type: "int8"}, {Name: "a.b", Type: "int8"}, {Name: "", Type: "int8"}, {Name: "é\"\n", Type: "int8", Nullable: true}, {Name: "a", Type: "string"}}
	f, got := readParquet(t, render(t, Parquet, columns, Options{}, []string{`{"z":1,"a.b":2,"":3,"é\"\n":4,"a":"5"}`}))
	for i, path := range f.Schema().Columns() {
		if len(path) != 1 || path[0] != columns[i].Name || got[0][i].String() != strconv.Itoa(i+1) {
			t.Errorf("column %d is %q = %v", i, path, got[0][i])
		}
	}
}

func TestParquetUnits(t *testing.T) {
	columns := []Column{{Name: "a", Type: "datetime"}, {Name: "b", Type: "instant", Nullable: true}}
	const micros, nanos = "unit=MICROS", "unit=NANOS"
	for _, c := range []struct {
		row, a, b string
		want      int64
	}{
		{`{"a":"2026-01-02T03:04:05.123456","b":"2026-01-02T03:04:05.123456Z"}`, micros, micros, 1767323045123456},
		{`{"a":"2026-01-02T03:04:05.123456789"}`, nanos, micros, 1767323045123456789},
		{`{"a":"0001-01-01T00:00:00","b":"1969-12-31T23:59:59.999999999Z"}`, micros, nanos, -62135596800000000},
		{`{"a":"-290000-01-01T00:00:00"}`, micros, micros, -9213683299200000000},
	} {
		f, got := readParquet(t, render(t, Parquet, columns, Options{}, []string{c.row}))
		a, b := f.Schema().Fields()[0].Type().String(), f.Schema().Fields()[1].Type().String()
		if !strings.Contains(a, c.a) || !strings.Contains(b, c.b) || got[0][0].Int64() != c.want {
			t.Errorf("%s: %s, %s, %v", c.row, a, b, got)
		}
	}
}

// TestParquetTimesWithoutSeconds: Java leaves out seconds that are zero.
func TestParquetTimesWithoutSeconds(t *testing.T) {
	columns := []Column{{Name: "a", Type: "time"}, {Name: "b", Type: "datetime"}, {Name: "c", Type: "instant"}}
	const day = 1767312000 * 1_000_000
	for text, seconds := range map[string]float64{"05:07": 18420, "00:00": 0, "05:07:09": 18429, "05:07:00.5": 18420.5} {
		row := fmt.Sprintf(`{"a":"%s","b":"2026-01-02T%[1]s","c":"2026-01-02T%[1]sZ"}`, text)
		_, got := readParquet(t, render(t, Parquet, columns, Options{}, []string{row}))
		moment := day + int64(seconds*1e6)
		if got[0][0].Int64() != int64(seconds*1e9) || got[0][1].Int64() != moment || got[0][2].Int64() != moment {
			t.Errorf("%s: %v", row, got[0])
		}
	}
}

func TestParquetRefuses(t *testing.T) {
	far := strings.Repeat(`{"datetime":"2026-01-02T03:04:05.5"}`+"\n", 5000)
	for _, c := range []struct {
		rows string
		want string // the error says it
		is   error
	}{
		{`{"int8":128}`, `row 1, column "int8"`, ErrUnfit},
		{`{"int32":2147483648}`, `column "int32"`, ErrUnfit},
		{`{"int64":9223372036854775808}`, `column "int64"`, ErrUnfit},
		{`{"int64":1.0}`, `column "int64"`, ErrMalformed},
		{`{"bool":1}`, `column "bool"`, ErrMalformed},
		{`{"float32":1e39}`, `column "float32"`, ErrUnfit},
		{`{"float64":1e309}`, `column "float64"`, ErrUnfit},
		{`{"float64":"nan"}`, `column "float64"`, ErrMalformed},
		{`{"string":1}`, `column "string"`, ErrMalformed},
		{`{"string":"\ud800"}`, `column "string"`, ErrUnfit},
		{`{"json":{"a":["\ud83d\ude00\\ud800","\udc00"]}}`, `column "json"`, ErrUnfit},
		{`{"bytes":"A"}`, `column "bytes"`, ErrMalformed},
		{`{"date":"2026-02-29"}`, `column "date"`, ErrMalformed},
		{`{"date":"+9999999-01-01"}`, `column "date"`, ErrUnfit},
		{`{"date":"-999999999-01-01"}`, `column "date"`, ErrUnfit},
		{`{"time":"24:00:00"}`, `column "time"`, ErrMalformed},
		{`{"time":"24:00"}`, `column "time"`, ErrMalformed},
		{`{"time":"05:07:"}`, `column "time"`, ErrMalformed},
		{`{"time":"05:07.5"}`, `column "time"`, ErrMalformed},
		{`{"time":"5:07"}`, `column "time"`, ErrMalformed},
		{`{"datetime":"2026-01-02"}`, `column "datetime"`, ErrMalformed},
		{`{"datetime":"2026-01-02T00:00:00Z"}`, `column "datetime"`, ErrMalformed},
		{`{"instant":"2026-01-02T00:00:00"}`, `column "instant"`, ErrMalformed},
		{`{"instant":"+999999999-12-31T23:59:59.999999999Z"}`, `column "instant"`, ErrUnfit},
		{`{"instant":"9999-12-31T00:00:00Z"}` + "\n" + `{"instant":"2026-01-02T00:00:00.000000001Z"}`, `row 1, column "instant"`, ErrUnfit},
		{far + `{"datetime":"2026-01-02T00:00:00.000000001"}`, `row 5001, column "datetime"`, ErrUnfit},
	} {
		w, err := newParquet(io.Discard, everyType)
		w.holdBytes = 100_000
		for row := range strings.SplitSeq(c.rows, "\n") {
			if err == nil {
				err = w.Write([]byte(row))
			}
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: err = %v, want %s, %v", c.rows, err, c.want, c.is)
		}
	}
	w, _ := New(Parquet, io.Discard, []Column{{Name: "a", Type: "int8"}}, Options{})
	if err := w.Write([]byte(`{}`)); !errors.Is(err, ErrUnfit) {
		t.Errorf("a null in a column that has none: %v", err)
	}
}

// After a fault the file has no footer, so nobody takes the part for the whole.
func TestParquetUnfinished(t *testing.T) {
	var out bytes.Buffer
	w, _ := New(Parquet, &out, []Column{{Name: "a", Type: "int8"}}, Options{})
	_ = w.Write([]byte(`{"a":1}`))
	if w.Write([]byte(`{"a":1000}`)) == nil || w.Close() == nil {
		t.Fatal("no error")
	}
	if _, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
		t.Error("the file can be read")
	}
}

// Row groups end by their bytes, and nothing of a long value stays behind in headers or in the footer.
func TestParquetRowGroups(t *testing.T) {
	columns := []Column{{Name: "i", Type: "int64"}, {Name: "b", Type: "bytes"}, {Name: "s", Type: "string"}, {Name: "n", Type: "json", Nullable: true}}
	blob := make([]byte, 300<<10)
	var out bytes.Buffer
	w, err := newParquet(&out, columns)
	if err != nil {
		t.Fatal(err)
	}
	w.groupBytes = 4 << 20
	const n = 50
	for i := range n {
		row := fmt.Sprintf(`{"i":%d,"b":"%s","s":"%0100000d"}`, i, base64.StdEncoding.EncodeToString(blob), i)
		if err := w.Write([]byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, got := readParquet(t, out.Bytes())
	if groups := len(f.RowGroups()); groups < 4 || groups > 6 {
		t.Errorf("%d row groups for 20 MB", groups)
	}
	if len(got) != n {
		t.Fatalf("%d rows", len(got))
	}
	for i, row := range got {
		if row[0].Int64() != int64(i) || !bytes.Equal(row[1].ByteArray(), blob) || row[2].String() != fmt.Sprintf("%0100000d", i) || !row[3].IsNull() {
			t.Fatalf("row %d: %v", i, row[0])
		}
	}
	if out.Len() > 64<<10 {
		t.Errorf("%d bytes for values that compress to nothing", out.Len())
	}
}

// What goes in comes out: random rows of every type, compared with values made by other means.
func TestParquetReadsBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type want struct {
		i8  int8
		i64 int64
		f32 float32
		f64 float64
		s   string
		b   []byte
		day int32
		at  time.Time
	}
	var in []string
	var wants []want
	for range 500 {
		at := time.Unix(random.Int64N(1<<36)-1<<35, random.Int64N(1_000_000)*1000).UTC()
		b := make([]byte, random.IntN(20))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		w := want{int8(random.Uint32()), int64(random.Uint64()), math.Float32frombits(random.Uint32()), math.Float64frombits(random.Uint64()),
			fmt.Sprintf("%q\n\t\u2028é😀", b), b, int32(floorDays(at)), at}
		if w.f32 != w.f32 {
			w.f32 = 1
		}
		if w.f64 != w.f64 {
			w.f64 = 1
		}
		s, _ := json.Marshal(w.s)
		in = append(in, fmt.Sprintf(`{"int8":%d,"int64":%d,"float32":%s,"float64":%s,"string":%s,"bytes":%q,"date":%q,"datetime":%q,"instant":%q,"time":%q}`,
			w.i8, w.i64, number32(w.f32), number64(w.f64), s, base64.StdEncoding.EncodeToString(b), iso(at, "-01-02"), iso(at, "-01-02T15:04:05.999999999"), iso(at, "-01-02T15:04:05.999999999Z"),
			at.Format("15:04:05.999999999")))
		wants = append(wants, w)
	}
	_, got := readParquet(t, render(t, Parquet, everyType, Options{}, in))
	if len(got) != len(wants) {
		t.Fatalf("%d rows", len(got))
	}
	index := map[string]int{}
	for i, c := range everyType {
		index[c.Name] = i
	}
	for i, w := range wants {
		v := func(name string) parquet.Value { return got[i][index[name]] }
		midnight := int64(w.day) * 24 * 60 * 60 * 1e6
		switch {
		case v("int8").Int32() != int32(w.i8), v("int64").Int64() != w.i64, v("float32").Float() != w.f32, v("float64").Double() != w.f64,
			string(v("string").ByteArray()) != w.s, !bytes.Equal(v("bytes").ByteArray(), w.b), v("date").Int32() != w.day,
			v("datetime").Int64() != w.at.UnixMicro(), v("instant").Int64() != w.at.UnixMicro(), v("time").Int64() != (w.at.UnixMicro()-midnight)*1000:
			t.Fatalf("row %d: %s gave %v", i, in[i], got[i])
		}
	}
}

func iso(t time.Time, layout string) string {
	year := fmt.Sprintf("%04d", t.Year())
	if t.Year() > 9999 {
		year = "+" + year
	}
	if t.Year() < 0 {
		year = fmt.Sprintf("-%04d", -t.Year())
	}
	return year + t.Format(layout)
}

func floorDays(t time.Time) int64 {
	s := t.Unix()
	d := s / 86400
	if s%86400 < 0 {
		d--
	}
	return d
}

func number32(f float32) string { b, _ := json.Marshal(f); return special(string(b), float64(f)) }
func number64(f float64) string { b, _ := json.Marshal(f); return special(string(b), f) }

func special(s string, f float64) string {
	if math.IsInf(f, 1) {
		return `"Infinity"`
	}
	if math.IsInf(f, -1) {
		return `"-Infinity"`
	}
	return s
}

func TestParseDateIsAnInverse(t *testing.T) {
	for day := int64(-800_000); day < 3_000_000; day += 37 {
		s := iso(time.Unix(day*86400, 0).UTC(), "-01-02")
		if got, o := parseDate([]byte(s)); o != read || got != day {
			t.Fatalf("%s: %d %v, want %d", s, got, o, day)
		}
	}
}
