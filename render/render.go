package render

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format names a way to print rows.
type Format string

// The formats.
const (
	JSONL   Format = "jsonl"
	JSON    Format = "json"
	CSV     Format = "csv"
	Parquet Format = "parquet"
	Table   Format = "table"
)

var formats = []string{string(JSONL), string(JSON), string(CSV), string(Parquet), string(Table)}

// Formats lists the names that ParseFormat takes, for help texts and completion.
func Formats() []string { return slices.Clone(formats) }

// ParseFormat reads the name of a format; the error lists them.
func ParseFormat(s string) (Format, error) {
	if !slices.Contains(formats, s) {
		return "", fmt.Errorf("no output format %q: there are %s", s, strings.Join(formats, ", "))
	}
	return Format(s), nil
}

// Column is a column of the output.
type Column struct {
	Name     string
	Type     string // bool int8 int16 int32 int64 float32 float64 string bytes decimal bigint date time datetime instant uuid json
	Nullable bool   // a null may stand here; Parquet refuses one elsewhere
}

// Options tune the output; the zero value is right for a file.
type Options struct {
	Terminal bool // the writer is a terminal: a table shortens long cells, Parquet is refused
	Width    int  // of the terminal in characters; 0 when unknown
}

// Writer prints rows. A row is one flat JSON object {column: value} in canonical form, members in any order; a member that is missing is null.
// Bytes of a row are not kept after Write. The first error sticks.
//
// Close prints what is buffered and what completes the output; it does not close the writer below. After an error of Write it completes
// nothing, and a caller whose rows ended early may leave it out: the output then stays visibly unfinished (no closing bracket, no footer).
type Writer interface {
	Write(row []byte) error
	Close() error
	// Encoder makes what takes a part of the work of Write, so that other goroutines can do it: it appends a row in a form that is for
	// WriteEncoded. Each goroutine needs one of its own. After an error what was appended before is whole.
	Encoder() Encoder
	// WriteEncoded is Write for consecutive rows that an Encoder of this Writer has appended. It may change their bytes.
	WriteEncoded(rows []byte) error
}

// Encoder appends a row.
type Encoder func(dst, row []byte) ([]byte, error)

// New makes a Writer of the format. JSON Lines and JSON need no columns and print every member; for the others a member that is no column is an error.
func New(f Format, w io.Writer, columns []Column, o Options) (Writer, error) {
	switch f {
	case JSONL:
		return newLines(w), nil
	case JSON:
		return newArray(w), nil
	}
	if err := checkColumns(columns); err != nil {
		return nil, fmt.Errorf("%s output: %w", f, err)
	}
	switch f {
	case CSV:
		return newCSV(w, columns)
	case Table:
		return newTable(w, columns, o), nil
	case Parquet:
		if o.Terminal {
			return nil, errors.New("parquet output: it is binary and not for a terminal: send it to a file or a pipe")
		}
		return newParquet(w, columns)
	}
	_, err := ParseFormat(string(f))
	return nil, err
}

func checkColumns(columns []Column) error {
	var faults []error
	if len(columns) == 0 {
		faults = append(faults, errors.New("no columns"))
	}
	seen := make(map[string]bool, len(columns))
	for _, c := range columns {
		if seen[c.Name] {
			faults = append(faults, fmt.Errorf("column %q stands twice", c.Name))
		}
		seen[c.Name] = true
		if _, ok := kinds[c.Type]; !ok {
			faults = append(faults, fmt.Errorf("column %q: no type %q", c.Name, c.Type))
		}
	}
	return errors.Join(faults...)
}

// kind is the type of a column.
type kind uint8

const (
	boolKind kind = iota
	int8Kind
	int16Kind
	int32Kind
	int64Kind
	float32Kind
	float64Kind
	stringKind
	bytesKind
	decimalKind
	bigintKind
	dateKind
	timeKind
	datetimeKind
	instantKind
	uuidKind
	jsonKind
)

var kinds = map[string]kind{
	"bool": boolKind, "int8": int8Kind, "int16": int16Kind, "int32": int32Kind, "int64": int64Kind, "float32": float32Kind, "float64": float64Kind,
	"string": stringKind, "bytes": bytesKind, "decimal": decimalKind, "bigint": bigintKind, "date": dateKind, "time": timeKind,
	"datetime": datetimeKind, "instant": instantKind, "uuid": uuidKind, "json": jsonKind,
}

// number says that values are best aligned to the right.
func (k kind) number() bool {
	switch k {
	case int8Kind, int16Kind, int32Kind, int64Kind, float32Kind, float64Kind, decimalKind, bigintKind:
		return true
	}
	return false
}
