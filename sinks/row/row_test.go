package row_test

import (
	"errors"
	"testing"

	"github.com/statebridge/statebridge/sinks/row"
)

func TestAppendText(t *testing.T) {
	for value, want := range map[string]string{
		`"plain"`: "plain", `""`: "", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0000\u00e9\ud83d\ude00"`: "\x00é😀", `1.50`: "1.50", `{"a":1}`: `{"a":1}`,
	} {
		if got, err := row.AppendText([]byte(">"), []byte(value)); err != nil || string(got) != ">"+want {
			t.Errorf("%s = %q, %v", value, got, err)
		}
	}
	for _, value := range []string{`"\ud800"`, `"\ud800x"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u0041"`} {
		if _, err := row.AppendText(nil, []byte(value)); !errors.Is(err, row.ErrSurrogate) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestAppendBytes(t *testing.T) {
	if got, err := row.AppendBytes([]byte(">"), []byte(`"AQI="`)); err != nil || string(got) != ">\x01\x02" {
		t.Errorf("%q, %v", got, err)
	}
	for _, value := range []string{`1`, `"A"`, `"A?=="`} {
		if got, err := row.AppendBytes(nil, []byte(value)); !errors.Is(err, row.ErrNoBytes) {
			t.Errorf("%s: %q, %v", value, got, err)
		}
	}
}
