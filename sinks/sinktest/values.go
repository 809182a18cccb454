package sinktest

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

func testNulls(t *testing.T, target Target) {
	b := open(t, target, columns("id* int64", "s string", "n int64", "j json")...)
	b.apply(true, put('r', `{"id":1}`, `{"id":1,"s":"x","n":1,"j":[1]}`), put('r', `{"id":2}`, `{"id":2,"s":null,"n":null,"j":null}`))
	b.want(`{"id":1,"s":"x","n":1,"j":[1]}`, `{"id":2}`)
	b.apply(false, put('u', `{"id":1}`, `{"id":1,"s":null,"n":2,"j":null}`), put('u', `{"id":2}`, `{"j":{"a":1},"id":2,"s":""}`))
	b.want(`{"id":1,"n":2}`, `{"id":2,"s":"","j":{"a":1}}`)
}

func testNumbers(t *testing.T, target Target) {
	b := open(t, target, columns("id* int64", "d decimal", "big bigint")...)
	d, big := "12345678901234567890123456789012345678.0100", "-"+strings.Repeat("9", 200)
	rows := []string{
		`{"id":9223372036854775807,"d":"` + d + `","big":"` + big + `"}`,
		`{"id":-9223372036854775808,"d":"0.00","big":"0"}`,
		`{"id":1234567890123456789,"d":"-1.50","big":"18446744073709551616"}`,
	}
	b.apply(true, put('r', `{"id":9223372036854775807}`, rows[0]), put('r', `{"id":-9223372036854775808}`, rows[1]))
	b.apply(false, put('c', `{"id":1234567890123456789}`, rows[2]))
	b.want(rows...)
	b.apply(false, del(`{"id":9223372036854775807}`))
	b.want(rows[1:]...)
}

func testFloats(t *testing.T, target Target) {
	b := open(t, target, columns("id* int32", "f float32", "d float64")...)
	rows := []string{
		`{"id":1,"f":"NaN","d":"NaN"}`, `{"id":2,"f":"Infinity","d":"Infinity"}`, `{"id":3,"f":"-Infinity","d":"-Infinity"}`,
		`{"id":4,"f":-0.0,"d":-0.0}`, `{"id":5,"f":0.1,"d":0.1}`, `{"id":6,"f":3.4028235e38,"d":1.7976931348623157e308}`, `{"id":7,"f":1e-45,"d":4.9e-324}`,
	}
	for i, r := range rows {
		key := `{"id":` + string(rune('1'+i)) + `}`
		b.apply(i == 0, put('c', key, r))
	}
	b.want(rows...)
}

func testTexts(t *testing.T, target Target) {
	b := open(t, target, columns("id* string", "s string")...)
	rows := []string{
		`{"id":"plain","s":""}`, `{"id":"\\N","s":"\\."}`, `{"id":"a\tb\nc\rd","s":"\\x00 \\t"}`, `{"id":"\u00e9\ud83d\ude00","s":"\u0001\u007f\b\f\u000b"}`,
		`{"id":"'; DROP TABLE x; --","s":"{\"a\":1}"}`, `{"id":"","s":"empty key"}`, `{"id":" trailing ","s":"  "}`, `{"id":"*?[x]%:{}","s":"null"}`,
	}
	keys := []string{`{"id":"plain"}`, `{"id":"\\N"}`, `{"id":"a\tb\nc\rd"}`, `{"id":"é😀"}`, `{"id":"'; DROP TABLE x; --"}`, `{"id":""}`, `{"id":" trailing "}`, `{"id":"*?[x]%:{}"}`}
	var changes []stream.Change
	for i := range rows {
		changes = append(changes, put('r', keys[i], rows[i]))
	}
	b.apply(true, changes...)
	b.want(rows...)
	b.apply(false, changes...)
	b.apply(true, changes...)
	b.want(rows...)
	for _, k := range keys {
		b.apply(false, del(k))
	}
	b.want()
}

func testTypes(t *testing.T, target Target) {
	b := open(t, target, columns("id* uuid", "b bool", "i1 int8", "i2 int16", "i4 int32", "by bytes",
		"d date", "t time", "dt datetime", "at instant", "j json")...)
	rows := []string{
		`{"id":"00000000-0000-0001-0000-000000000002","b":true,"i1":-128,"i2":32767,"i4":-2147483648,"by":"AP9c","d":"2026-02-28","t":"23:59:59.123456",` +
			`"dt":"2026-03-29T02:30:00","at":"2026-03-29T01:30:00.5Z","j":{"a":[1,2.50,"x\ny",{"b":null}],"é":"\\"}}`,
		`{"id":"ffffffff-ffff-ffff-ffff-ffffffffffff","b":false,"by":"","j":"just text"}`,
		`{"id":"ffffffff-ffff-ffff-ffff-fffffffffff0","j":12345678901234567890}`,
	}
	b.apply(true, put('r', `{"id":"00000000-0000-0001-0000-000000000002"}`, rows[0]), put('r', `{"id":"ffffffff-ffff-ffff-ffff-ffffffffffff"}`, rows[1]))
	b.apply(false, put('c', `{"id":"ffffffff-ffff-ffff-ffff-fffffffffff0"}`, rows[2]))
	b.want(rows[0], rows[1], strings.Replace(rows[2], `12345678901234567890`, `12345678901234567890`, 1))
	b.apply(false, put('u', `{"id":"00000000-0000-0001-0000-000000000002"}`, rows[0]), del(`{"id":"ffffffff-ffff-ffff-ffff-ffffffffffff"}`))
	b.want(rows[0], rows[2])
}

func testOddNames(t *testing.T, target Target) {
	b := open(t, target, columns("select* string", `we"ird string`, "userId int64", "group int64")...)
	b.table.Consumer = "Order"
	b.prepare()
	r := `{"select":"a","we\"ird":"x","userId":1,"group":2}`
	b.apply(true, put('r', `{"select":"a"}`, r))
	b.want(r)
	b.apply(false, put('u', `{"select":"a"}`, `{"select":"a","we\"ird":"y","userId":1,"group":null}`))
	b.want(`{"select":"a","we\"ird":"y","userId":1}`)
	b.apply(false, del(`{"select":"a"}`))
	b.want()
}

func testComposite(t *testing.T, target Target) {
	b := open(t, target, columns("k1* string", "k2* string", "n* int64", "v int64")...)
	rows := []string{`{"k1":"a:b","k2":"c","n":1,"v":1}`, `{"k1":"a","k2":"b:c","n":1,"v":2}`, `{"k1":"a%3Ab","k2":"c","n":1,"v":3}`, `{"k1":"","k2":"","n":1,"v":4}`}
	keys := []string{`{"k1":"a:b","k2":"c","n":1}`, `{"k1":"a","k2":"b:c","n":1}`, `{"k1":"a%3Ab","k2":"c","n":1}`, `{"k1":"","k2":"","n":1}`}
	var changes []stream.Change
	for i := range rows {
		changes = append(changes, put('r', keys[i], rows[i]))
	}
	b.apply(true, changes...)
	b.want(rows...)
	b.apply(false, del(keys[0]), put('u', keys[1], `{"k1":"a","k2":"b:c","n":1,"v":20}`))
	b.want(`{"k1":"a","k2":"b:c","n":1,"v":20}`, rows[2], rows[3])
}

// testRefusals checks that a row which can't be held stops the epoch by name, without its values, and leaves the target usable.
func testRefusals(t *testing.T, target Target) {
	b := open(t, target, columns("id* string", "s string", "n int64", "at instant", "j json")...)
	good := put('r', `{"id":"a"}`, `{"id":"a","s":"ok","n":1,"at":null,"j":null}`)
	b.apply(true, good)
	bad := map[string]stream.Change{
		"surrogate":      put('c', `{"id":"secret"}`, `{"id":"secret","s":"\ud800","n":1}`),
		"null key":       put('c', `{"id":null}`, `{"id":null,"s":"secret","n":1}`),
		"key absent":     del(`{}`),
		"unknown member": put('c', `{"id":"secret"}`, `{"id":"secret","x":1}`),
	}
	if b.RefuseNUL {
		bad["NUL"] = put('c', `{"id":"secret"}`, `{"id":"secret","s":"a\u0000b","n":1}`)
		bad["NUL in json"] = put('c', `{"id":"secret"}`, `{"id":"secret","s":"x","n":1,"j":{"a":"\u0000"}}`)
	}
	for name, c := range bad {
		c.Partition, c.Seq = 1, 77
		err := b.try(b.next(false), put('u', `{"id":"a"}`, `{"id":"a","s":"changed","n":1}`), c)
		var refused *sinks.RowError
		var permanent *sinks.PermanentError
		if !errors.As(err, &refused) || !errors.As(err, &permanent) {
			t.Fatalf("%s: err = %v, want a permanent RowError", name, err)
		}
		if refused.Partition != 1 || refused.Seq != 77 || refused.Checkpoint != 20 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		if isNull := name == "null key" || name == "key absent"; isNull && (refused.Column != "id" || !strings.Contains(err.Error(), "columns: {key: key, …}")) {
			t.Errorf("%s: %v names no column or no remedy", name, err)
		}
		if b.Whole {
			b.want(`{"id":"a","s":"ok","n":1}`)
		}
	}
	b.apply(false, put('u', `{"id":"a"}`, `{"id":"a","s":"fine","n":2}`))
	b.want(`{"id":"a","s":"fine","n":2}`)
}

// testTwice: in a full epoch each row comes once, so a key that repeats means that two rows of the state share it.
func testTwice(t *testing.T, target Target) {
	b := open(t, target, account...)
	err := b.try(b.next(true), put('r', `{"id":"a"}`, `{"id":"a","balance":1}`), put('r', `{"id":"a"}`, `{"id":"a","balance":2}`))
	var permanent *sinks.PermanentError
	if !errors.As(err, &permanent) {
		t.Fatalf("two rows of one key give %v, want a permanent error", err)
	}
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	err = b.try(b.next(true), put('r', `{"id":"a"}`, `{"id":"a","balance":1}`), put('r', `{"id":"a"}`, `{"id":"a","balance":2}`))
	if !errors.As(err, &permanent) {
		t.Fatalf("two rows of one key over a filled table give %v, want a permanent error", err)
	}
}

func testWidens(t *testing.T, target Target) {
	b := open(t, target, columns("id* int32", "n int32")...)
	b.apply(true, put('r', `{"id":1}`, `{"id":1,"n":1}`))
	b.table.Columns = columns("id* int32", "extra string", "n int64")
	b.prepare()
	b.want(`{"id":1,"n":1}`)
	b.apply(false, put('u', `{"id":1}`, `{"id":1,"extra":"x","n":9223372036854775807}`), put('c', `{"id":2}`, `{"id":2,"extra":null,"n":2}`))
	b.want(`{"id":1,"extra":"x","n":9223372036854775807}`, `{"id":2,"n":2}`)
	b.prepare() // again, as every start does
	b.want(`{"id":1,"extra":"x","n":9223372036854775807}`, `{"id":2,"n":2}`)
}

// testGoneColumn: a column that the state no longer has stays, but a row that changes has no value there.
func testGoneColumn(t *testing.T, target Target) {
	b := open(t, target, columns("id* int32", "old string", "n int32")...)
	b.apply(true, put('r', `{"id":1}`, `{"id":1,"old":"x","n":1}`))
	b.table.Columns = columns("id* int32", "n int32")
	b.prepare()
	b.apply(false, put('u', `{"id":1}`, `{"id":1,"n":2}`), put('c', `{"id":2}`, `{"id":2,"n":2}`))
	b.table.Columns = columns("id* int32", "old string", "n int32") // read them all
	b.want(`{"id":1,"n":2}`, `{"id":2,"n":2}`)
}
