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

func TestStandIns(t *testing.T) {
	for _, test := range []struct {
		instead    func([]byte) []byte
		value, was string
	}{
		{row.Clean, `"a\u0000\ud800\\u0000\ud83d\ude00\udc00"`, `"a\ufffd\ufffd\\u0000\ud83d\ude00\ufffd"`},
		{row.Clean, `{"\u0000":["\n"]}`, `{"\ufffd":["\n"]}`},
		{row.Cut(3), `"\u00e9😀<\n"`, `"é😀<"`},
		{row.Cut(0), `"a"`, `""`},
		{row.Cut(9), `"ab"`, `"ab"`},
		{row.CutSecond(6), `"2026-01-01T00:00:00.123456789Z"`, `"2026-01-01T00:00:00.123456Z"`},
		{row.CutSecond(0), `"23:59:59.5"`, `"23:59:59"`},
		{row.CutSecond(3), `"23:59:59.5"`, `"23:59:59.5"`},
		{row.CutSecond(3), `"23:59:59"`, `"23:59:59"`},
	} {
		if got := test.instead([]byte(test.value)); string(got) != test.was {
			t.Errorf("%s: %s, want %s", test.value, got, test.was)
		}
	}
	if row.Null([]byte("1")) != nil {
		t.Error("null is something")
	}
}
