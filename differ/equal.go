package differ

import (
	"bytes"
	"encoding/json"
	"math/big"
)

// equalJSON compares two values of different schemas: a member that is null equals one that is absent, and numbers
// compare by what they are, so that a field that was added as null or widened is no change.
func equalJSON(a, b []byte) bool {
	x, errX := parse(a)
	y, errY := parse(b)
	return errX == nil && errY == nil && equalValues(x, y)
}

func parse(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && covers(a, b) && covers(b, a)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(string(a), string(b))
	}
	return a == b
}

// covers says whether every member of a has its equal in b.
func covers(a, b map[string]any) bool {
	for name, v := range a {
		if !equalValues(v, b[name]) {
			return false
		}
	}
	return true
}

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0 && (x.Sign() != 0 || a[0] == b[0]) // -0.0 is not 0.0
}
