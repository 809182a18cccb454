package differ

import "testing"

func TestEqualJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1}`, `{"a":1,"b":null}`, true},
		{`{"a":1,"b":null}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":0}`, false},
		{`{"a":{"x":null}}`, `{"a":{}}`, true},
		{`{"a":null}`, `{}`, true},
		{`{"b":2,"a":1}`, `{"a":1,"b":2}`, true},
		{`[1,null]`, `[1]`, false},
		{`[{"a":1},{"b":null}]`, `[{"a":1},{}]`, true},
		{`1`, `1.0`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740993.0`, true},
		{`-0.0`, `0.0`, false},
		{`0`, `0.0`, true},
		{`"1"`, `1`, false},
		{`"NaN"`, `"NaN"`, true},
		{`true`, `false`, false},
		{`null`, `{}`, false},
		{`"é"`, `"\u00e9"`, true},
	} {
		if got := equalJSON([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}
