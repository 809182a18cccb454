package state

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/statebridge/statebridge/state/javaio"
)

// partitionValues reads the name of a partition, the values of its columns with $ between them, as JSON.
func partitionValues(name string, columns []*sqlType) ([][]byte, error) {
	parts := strings.Split(name, "$")
	if len(parts) != len(columns) {
		return nil, fmt.Errorf("the partition %q has %d values, and the schema file has %d partition_keys", name, len(parts), len(columns))
	}
	values := make([][]byte, len(parts))
	for i, text := range parts {
		v, err := columns[i].partitionValue(text)
		if err != nil {
			return nil, fmt.Errorf("the partition %q: %q is no %s", name, text, columns[i].root)
		}
		values[i] = v
	}
	return values, nil
}

// partitionValue reads what Fluss writes into the name of a partition: names have no points, colons or spaces.
func (t *sqlType) partitionValue(text string) ([]byte, error) {
	switch t.typ.Kind {
	case String:
		return appendQuoted(nil, text), nil
	case Bytes:
		b, err := hex.DecodeString(text)
		return appendBase64(nil, b), err
	case Bool:
		v, err := t.number([]byte(text))
		return appendBool(nil, v != 0), err
	case Int8, Int16, Int32, Int64:
		v, err := strconv.ParseInt(text, 10, 8*t.width())
		return strconv.AppendInt(nil, v, 10), err
	case Float32:
		return floatOfPartition(text, 32)
	case Float64:
		return floatOfPartition(text, 64)
	case Date:
		json := appendQuoted(nil, text)
		_, err := t.dayOrTime(json)
		return json, err
	}
	return t.partitionTime(text)
}

func floatOfPartition(text string, bits int) ([]byte, error) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", "."), bits)
	return appendFloat(nil, f, bits), err
}

// partitionTime reads 15-04-05_123 and 2006-01-02-15-04-05_123456789.
func (t *sqlType) partitionTime(text string) ([]byte, error) {
	layout := "2006-01-02-15-04-05"
	if t.typ.Kind == Time {
		layout = "15-04-05"
	}
	whole, fraction, _ := strings.Cut(text, "_")
	at, err := time.Parse(layout, whole)
	nanos, errFraction := strconv.ParseUint((fraction + "000000000")[:9], 10, 32)
	if err = errors.Join(err, errFraction); err != nil {
		return nil, err
	}
	var r javaio.Reader
	var json []byte
	switch t.typ.Kind {
	case Time:
		json = appendTimeOfDay(nil, &r, int32(at.Hour()*3600_000+at.Minute()*60_000+at.Second()*1000)+int32(nanos/1e6))
	case DateTime, Instant:
		json = t.appendTimestamp(nil, &r, at.UnixMilli()+int64(nanos/1e6), int32(nanos%1e6))
	default:
		return nil, fmt.Errorf("a %s can't be in the name of a partition", t.root)
	}
	return json, r.Err()
}
