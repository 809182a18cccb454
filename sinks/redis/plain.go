package redis

import (
	"bytes"

	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

// plain are commands that change rows as the rows script would, behind a MULTI, as they go over the wire.
type plain struct {
	bytes   []byte
	replies []int64 // what each command replies in a full epoch, if its row is new
	notes   []byte  // keys to note
	noted   int
}

// room is what another batch may be written into.
func (p *plain) room() plain {
	if cap(p.bytes) > 2*batchBytes {
		return plain{}
	}
	return plain{bytes: p.bytes[:0], replies: p.replies[:0], notes: p.notes[:0]}
}

var (
	wordHSet    = appendBulk(nil, "HSET")
	wordHDel    = appendBulk(nil, "HDEL")
	wordSet     = appendBulk(nil, "SET")
	wordDel     = appendBulk(nil, "DEL")
	wordKeepTTL = appendBulk(nil, "KEEPTTL")
	wordNX      = appendBulk(nil, "NX")
	wordSAdd    = appendBulk(nil, "SADD")
)

// command begins one of so many words.
func (p *plain) command(words, reply int, verb, key []byte) {
	if len(p.bytes) == 0 {
		p.bytes = append(p.bytes, multi...)
	}
	p.bytes = appendBulk(append(appendHead(p.bytes, '*', words), verb...), key)
	p.replies = append(p.replies, int64(reply))
}

// note puts the command in that notes the keys, in the set of that name.
func (p *plain) note(set []byte) {
	if p.noted > 0 {
		p.bytes = append(append(append(appendHead(p.bytes, '*', 2+p.noted), wordSAdd...), set...), p.notes...)
		p.replies = append(p.replies, 0)
	}
}

func (x *transaction) removePlain(key []byte) {
	b := x.next
	b.plain.command(2, 0, wordDel, key)
	b.gone = append(b.gone, string(key))
	x.countPlain(key, len(key))
}

// countPlain notes what a batch has come to with a row.
func (x *transaction) countPlain(key []byte, size int) {
	x.next.count(size)
	if w, p := x.watched, &x.next.plain; w.behind != nil {
		p.notes, p.noted = appendBulk(p.notes, bytes.TrimPrefix(key, w.prefix)), p.noted+1
	}
}

// addPlain puts the commands that write a row into the batch.
func (x *transaction) addPlain(c stream.Change, key []byte, values [][]byte) error {
	b := x.next
	form, before := x.plainHash, b.plain
	if x.sink.options.Encoding != Hash {
		form = x.plainString
	}
	if column, err := form(c, key, values); err != nil {
		b.plain = before
		return x.refuse(c, column, err)
	}
	x.countPlain(key, len(key)+len(c.After))
	return nil
}

// plainHash sets the fields that have a value and removes the others. An error comes with the column that it is about.
func (x *transaction) plainHash(_ stream.Change, key []byte, values [][]byte) (column string, err error) {
	p, w, n := &x.next.plain, x.watched, 0
	for _, v := range values {
		if v != nil {
			n++
		}
	}
	p.command(2+2*n, n, wordHSet, key)
	for i, v := range values {
		if v == nil {
			continue
		}
		p.bytes = append(p.bytes, w.names[i]...)
		if p.bytes, err = x.appendBulkField(p.bytes, x.table.Columns[i].Type, v); err != nil {
			return x.table.Columns[i].Name, err
		}
	}
	lacks := len(values) - n + len(w.gone)
	if w.full || lacks == 0 {
		return "", nil
	}
	p.command(2+lacks, 0, wordHDel, key)
	for i, v := range values {
		if v == nil {
			p.bytes = append(p.bytes, w.names[i]...)
		}
	}
	for _, name := range w.gone {
		p.bytes = append(p.bytes, name...)
	}
	return "", nil
}

func (x *transaction) appendBulkField(dst []byte, logical string, value []byte) ([]byte, error) {
	guess := len(value)
	if logical != "json" && row.IsString(value) {
		guess -= len(`""`)
	}
	dst, bulk := beginBulk(dst, guess)
	dst, err := x.appendField(dst, logical, value)
	return bulk.end(dst), err
}

// plainString sets the one string that a row is.
func (x *transaction) plainString(c stream.Change, key []byte, values [][]byte) (column string, err error) {
	p, how := &x.next.plain, wordKeepTTL
	if x.watched.full {
		how = wordNX
	}
	p.command(4, 0, wordSet, key)
	dst, bulk := beginBulk(p.bytes, len(c.After))
	if dst, column, err = x.appendString(dst, c, values); err != nil {
		return column, err
	}
	p.bytes = append(bulk.end(dst), how...)
	return "", nil
}
