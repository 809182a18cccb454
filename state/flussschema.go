package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// FlussTable is what has to be known of a Fluss table to read its KV snapshots, which have no schema of their own: columns, keys and formats. It is
// read from a file of the user's:
//
//	{
//	  "schemas": {"1": [{"name": "id", "type": "BIGINT NOT NULL"}, …], "2": […]},
//	  "primary_key": ["id"],
//	  "partition_keys": [], "bucket_key": ["id"],
//	  "kv_format": "compacted", "kv_format_version": 2, "lake_format": ""
//	}
type FlussTable struct {
	file      string
	ids       []int // of schemas, ascending
	byID      map[int16]*sqlType
	newest    *sqlType
	key       []string // the primary key
	partition []string
	form      keyForm
}

// flussFile is the file as it is written.
type flussFile struct {
	Schemas map[string][]struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"schemas"`
	PrimaryKey      []string `json:"primary_key"`
	PartitionKeys   []string `json:"partition_keys"`
	BucketKey       []string `json:"bucket_key"`        // none: the primary key without the partition's columns
	KVFormat        string   `json:"kv_format"`         // table.kv.format; none: compacted
	KVFormatVersion int      `json:"kv_format_version"` // table.kv.format-version; none: 1
	LakeFormat      string   `json:"lake_format"`       // table.datalake.format
}

// ParseFlussTable reads a schema file; its name is for messages.
func ParseFlussTable(name string, b []byte) (*FlussTable, error) {
	t := &FlussTable{file: name}
	var f flussFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, t.fault(err)
	}
	if err := errors.Join(t.readSchemas(&f), t.readKey(&f)); err != nil {
		return nil, t.fault(err)
	}
	return t, nil
}

func (t *FlussTable) fault(err error) error { return fmt.Errorf("schema file %s: %w", t.file, err) }

func (t *FlussTable) readSchemas(f *flussFile) error {
	form := compactedRow
	switch strings.ToLower(f.KVFormat) {
	case "", "compacted":
	case "indexed":
		form = indexedRow
	default:
		return fmt.Errorf("kv_format %q: compacted or indexed is expected", f.KVFormat)
	}
	t.byID = map[int16]*sqlType{}
	var faults []error
	for text, columns := range f.Schemas {
		id, err := strconv.ParseInt(text, 10, 16)
		if err != nil {
			faults = append(faults, fmt.Errorf("schemas: %q is no schema id", text))
			continue
		}
		row := &sqlType{root: "ROW", typ: Type{Kind: Record, Fields: []Field{}}, form: form}
		for _, c := range columns {
			column, err := parseFlussType(c.Type, form)
			if err == nil {
				err = row.addNamed(c.Name, column)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("schema %d, column %q: %w", id, c.Name, err))
			}
		}
		t.ids = append(t.ids, int(id))
		t.byID[int16(id)] = row
	}
	if len(f.Schemas) == 0 {
		faults = append(faults, errors.New("schemas is required: the columns of the table by schema id"))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return t.checkSchemas()
}

// checkSchemas makes sure that each schema goes on from the one before: columns can only be added at the end.
func (t *FlussTable) checkSchemas() error {
	slices.Sort(t.ids)
	if len(t.byID) != len(t.ids) { // "1" and "01"

		return errors.New("schemas: a schema id stands twice")
	}
	for i, id := range t.ids {
		row := t.byID[int16(id)]
		if i > 0 {
			if err := t.newest.continuedBy(row); err != nil {
				return fmt.Errorf("schema %d does not go on from schema %d: %w", id, t.ids[i-1], err)
			}
		}
		t.newest = row
	}
	return nil
}

// continuedBy says what keeps a row of next from beginning as a row of t does.
func (t *sqlType) continuedBy(next *sqlType) error {
	for i, f := range t.typ.Fields {
		switch {
		case i >= len(next.fields) || next.typ.Fields[i].Name != f.Name:
			return fmt.Errorf("column %d is not %q any more, and Fluss only adds columns at the end", i+1, f.Name)
		case !t.fields[i].sameBytes(next.fields[i]):
			return fmt.Errorf("column %q has another type", f.Name)
		}
	}
	return nil
}

// sameBytes says whether two types are the same but for nulls.
func (t *sqlType) sameBytes(o *sqlType) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.root == o.root && t.precision == o.precision && t.scale == o.scale && t.length == o.length &&
		t.key.sameBytes(o.key) && t.elem.sameBytes(o.elem) && len(t.fields) == len(o.fields) && t.continuedBy(o) == nil
}

func (t *FlussTable) readKey(f *flussFile) error {
	t.key, t.partition = f.PrimaryKey, f.PartitionKeys
	var stored []string
	for _, name := range t.key {
		if !slices.Contains(t.partition, name) {
			stored = append(stored, name)
		}
	}
	if len(stored) == 0 {
		return errors.New("primary_key is required, with a column that is not one of partition_keys")
	}
	lakeKeys := f.BucketKey == nil || slices.Equal(f.BucketKey, stored)
	switch f.KVFormatVersion {
	case 0, 1:
		lakeKeys = true
	case 2:
	default:
		return fmt.Errorf("kv_format_version %d is not known; 1 and 2 are", f.KVFormatVersion)
	}
	form, known := map[string]keyForm{"": compactedKey, "lance": compactedKey, "hudi": compactedKey, "paimon": paimonKey, "iceberg": icebergKey}[strings.ToLower(f.LakeFormat)]
	if !known {
		return fmt.Errorf("lake_format %q: paimon, iceberg, lance, hudi or nothing is expected", f.LakeFormat)
	}
	if lakeKeys {
		t.form = form
	}
	if t.form == icebergKey && len(stored) != 1 {
		return errors.New("a table with keys for Iceberg has one key column")
	}
	return t.checkKey()
}

// checkKey names the columns of a key that there are none of, or that can't be one.
func (t *FlussTable) checkKey() error {
	var faults []error
	for _, name := range t.partition {
		if !slices.Contains(t.key, name) {
			faults = append(faults, fmt.Errorf("partition_keys: %q is not in primary_key", name))
		}
	}
	for i, name := range t.key {
		column := t.column(name)
		switch {
		case t.newest == nil:
			continue // the schemas have faults of their own
		case slices.Contains(t.key[:i], name):
			faults = append(faults, fmt.Errorf("primary_key: %q stands twice", name))
		case column == nil:
			faults = append(faults, fmt.Errorf("primary_key: no column %q in schema %d", name, t.ids[0]))
		case column.typ.Kind == List || column.typ.Kind == Map || column.typ.Kind == Record:
			faults = append(faults, fmt.Errorf("primary_key: %q is %s, which can't be a key", name, column.root))
		case t.form == icebergKey && !slices.Contains(t.partition, name) && column.checkIceberg() != nil:
			faults = append(faults, fmt.Errorf("primary_key: %q: %w", name, column.checkIceberg()))
		}
	}
	return errors.Join(faults...)
}

// column finds a column that every schema has, as part of a key: never null. Nil if there is none.
func (t *FlussTable) column(name string) *sqlType {
	if t.newest == nil {
		return nil
	}
	i := slices.IndexFunc(t.newest.typ.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 || i >= len(t.byID[int16(t.ids[0])].fields) {
		return nil
	}
	column := *t.newest.fields[i]
	column.typ.Nullable = false
	return &column
}

// SchemaIDs lists the ids of the schemas that the file has, ascending.
func (t *FlussTable) SchemaIDs() []int { return slices.Clone(t.ids) }

// Schema describes a snapshot of the table, or of one partition; its name is "" for a table without partitions. Rows are shown with the columns of
// the schema that has the id.
func (t *FlussTable) Schema(name, partition string, id int) (*Schema, error) {
	shown := t.byID[int16(id)]
	if shown == nil {
		return nil, t.fault(fmt.Errorf("no schema %d", id))
	}
	var columns []*sqlType
	for _, p := range t.partition {
		columns = append(columns, t.column(p))
	}
	if partition == "" && len(columns) > 0 {
		return nil, t.fault(errors.New("partition_keys are given, and the snapshot is of a table without partitions"))
	}
	key := &flussKeyCodec{typ: Type{Kind: Tuple}, stored: &sqlType{root: "ROW", typ: Type{Kind: Tuple}}, form: t.form}
	if partition != "" {
		values, err := partitionValues(partition, columns)
		if err != nil {
			return nil, t.fault(err)
		}
		key.fixed = make([][]byte, len(t.key))
		for i, p := range t.partition {
			key.fixed[slices.Index(t.key, p)] = values[i]
		}
	}
	for i, name := range t.key {
		f := t.column(name)
		key.typ.Fields = append(key.typ.Fields, Field{name, &f.typ})
		if key.fixed == nil || key.fixed[i] == nil {
			key.stored.fields = append(key.stored.fields, f)
			key.stored.typ.Fields = append(key.stored.typ.Fields, Field{name, &f.typ})
		}
	}
	return &Schema{Name: name, Kind: KindValue, Key: key, Value: &flussValueCodec{shown, t.byID}, Ungrouped: true, KeyInValue: true}, nil
}

// SameValues says whether equal bytes are equal values under both codecs, a column that is null and one that is not shown being equal.
func SameValues(a, b Codec) bool {
	x, isX := a.(*flussValueCodec)
	y, isY := b.(*flussValueCodec)
	if isX && isY {
		return reflect.DeepEqual(x.byID, y.byID)
	}
	return reflect.DeepEqual(a, b)
}

// RawFlussSchema describes a snapshot of a table of which nothing is known.
func RawFlussSchema(name string) *Schema {
	const why = "a snapshot does not hold the columns of its table; a schema file does"
	return &Schema{Name: name, Kind: KindValue, Key: newRaw("Fluss key", why), Value: newRaw("Fluss row", why), Ungrouped: true}
}
