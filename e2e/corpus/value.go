package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

// A value is parsed JSON: nil, bool, json.Number, string, []value, or object.
type value any

// object keeps the order of its members, for one that is to equal an array.
type object []member

type member struct {
	name string
	value
}

func (o object) get(name string) (value, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// parse reads one JSON value and refuses anything behind it.
func parse(b []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseNext(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value in %.80q", b)
	}
	return v, nil
}

func parseNext(d *json.Decoder) (value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []value{}
		for d.More() {
			v, err := parseNext(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseNext(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), v})
		}
		_, err = d.Token()
		return o, err
	}
	return token, nil
}

// same says whether a value is the wanted one, in whichever form it is printed.
func same(want, got value) bool {
	switch w := want.(type) {
	case object:
		return sameObject(w, got)
	case []value:
		return sameList(w, got)
	case json.Number:
		g, ok := got.(json.Number)
		return ok && sameNumber(w.String(), g.String())
	}
	switch got.(type) {
	case object, []value:
		return false
	}
	return want == got
}

func sameObject(want object, got value) bool {
	if raw, ok := want.get("$raw"); ok { // only its bytes count
		g, _ := got.(object)
		b, has := g.get("$raw")
		return has && same(raw, b)
	}
	switch g := got.(type) {
	case object:
		if len(want) != len(g) {
			return false
		}
		for _, m := range want {
			if v, ok := g.get(m.name); !ok || !same(m.value, v) {
				return false
			}
		}
		return true
	case []value:
		if members, ok := pairs(g); ok && sameObject(want, members) {
			return true
		}
		return len(want) == 0 && len(g) == 0
	}
	return false
}

func sameList(want []value, got value) bool {
	switch g := got.(type) {
	case object:
		if members, ok := pairs(want); ok && sameObject(members, g) {
			return true
		}
		all := make([]value, len(g))
		for i, m := range g {
			all[i] = m.value
		}
		return sameInOrder(want, all)
	case []value:
		return sameInOrder(want, g) || isMap(want) && isMap(g) && sameInAnyOrder(want, g)
	}
	return false
}

func sameInOrder(want, got []value) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !same(want[i], got[i]) {
			return false
		}
	}
	return true
}

func sameInAnyOrder(want, got []value) bool {
	w, g := texts(want), texts(got)
	return strings.Join(w, "\n") == strings.Join(g, "\n")
}

func texts(list []value) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = text(v)
	}
	sort.Strings(all)
	return all
}

// isMap says whether a list could be the entries of a map.
func isMap(list []value) bool {
	for _, v := range list {
		if pair, ok := v.([]value); !ok || len(pair) != 2 {
			return false
		}
	}
	return true
}

// pairs is the object whose members are written as [name, value].
func pairs(list []value) (object, bool) {
	if !isMap(list) {
		return nil, false
	}
	o := make(object, len(list))
	for i, v := range list {
		name, ok := v.([]value)[0].(string)
		if !ok {
			return nil, false
		}
		o[i] = member{name, v.([]value)[1]}
	}
	return o, true
}

// sameNumber compares integers of any size exactly, and floats as the width that their digits suggest.
func sameNumber(want, got string) bool {
	if want == got {
		return true
	}
	a, okA := new(big.Int).SetString(want, 10)
	b, okB := new(big.Int).SetString(got, 10)
	if okA && okB {
		return a.Cmp(b) == 0
	}
	x, errX := strconv.ParseFloat(want, 64)
	y, errY := strconv.ParseFloat(got, 64)
	if errX != nil || errY != nil || math.Signbit(x) != math.Signbit(y) {
		return false
	}
	return x == y || len(want) <= 14 && len(got) <= 14 && float32(x) == float32(y)
}

// text is one spelling for all the forms of a value, except that objects and arrays stay apart.
func text(v value) string {
	switch v := v.(type) {
	case object:
		all := make([]string, len(v))
		for i, m := range v {
			all[i] = strconv.Quote(m.name) + ":" + text(m.value)
		}
		sort.Strings(all)
		return "{" + strings.Join(all, ",") + "}"
	case []value:
		if o, ok := pairs(v); ok {
			return text(o)
		}
		all := make([]string, len(v))
		for i, e := range v {
			all[i] = text(e)
		}
		return "[" + strings.Join(all, ",") + "]"
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return strconv.FormatInt(int64(f), 10)
		}
		return v.String()
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}
