package state

import "github.com/statebridge/statebridge/state/javaio"

// undecodedTable makes the reader of a table serializer's snapshot whose values are not decoded: it steps over the payload.
func undecodedTable(past func(p *snapshots, class string, version int32)) snapshotReader {
	return func(p *snapshots, class string, version int32) Codec {
		past(p, class, version)
		return newRaw(class, "this table serializer is not decoded")
	}
}

func pastInts(n int) func(p *snapshots, class string, version int32) {
	return func(p *snapshots, class string, version int32) {
		p.checkVersion(class, version, 1, 3)
		p.r.Skip(4 * n)
	}
}

func pastObjects(n int) func(p *snapshots, class string, version int32) {
	return func(p *snapshots, class string, version int32) {
		p.checkVersion(class, version, 1, 3)
		for range n {
			p.r.Object()
		}
	}
}

func pastRowData(p *snapshots, class string, version int32) {
	p.checkVersion(class, version, 3, 3)
	for range p.r.Count(1) {
		p.r.Object()
		if p.r.Err() != nil {
			return
		}
	}
	p.nested(-1)
}

func pastSortedMap(p *snapshots, class string, version int32) {
	p.checkVersion(class, version, 3, 3)
	p.r.Object()
	p.nested(2)
}

func pastExternal(p *snapshots, class string, version int32) {
	p.outer(class, version)
	p.r.Object()
	p.r.Bool()
	p.nested(1)
}

func pastLinkedList(p *snapshots, class string, version int32) {
	if p.outer(class, version) >= 3 {
		p.r.Bool()
	}
	p.nested(1)
}

func pastComposite(p *snapshots, class string, version int32) {
	p.outer(class, version)
	p.nested(-1)
}

func pastAvro(p *snapshots, class string, version int32) {
	if !p.checkVersion(class, version, 1, 3) {
		return
	}
	switch version {
	case 3:
		skipFlinkString(p.r)
		skipFlinkString(p.r)
	case 2:
		p.r.UTF()
		p.r.UTF()
	default:
		p.r.UTF()
	}
}

var _ = javaio.NewReader
