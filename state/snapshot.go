package state

import (
	"errors"
	"strings"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

const (
	// minSnapshot is what the smallest entry of a serializer map takes: a name, and a wrapped snapshot without payload.
	minSnapshot = 2 + 4 + 2 + 4
	// minNested is a snapshot without a name of its own.
	minNested = 2 + 4
	// maxDepth bounds how deep serializers nest.
	maxDepth = 64
)

// snapshots reads serializer snapshots: each names its class, and the class decides the layout that follows.
type snapshots struct {
	r     *javaio.Reader
	o     Options
	depth int
}

// A snapshotReader reads the payload of one snapshot class, without its name and version.
type snapshotReader func(p *snapshots, class string, version int32) Codec

// wrapped reads a root: a version of the wrapping, then the snapshot.
func (p *snapshots) wrapped() Codec {
	if v := p.r.Int32(); p.r.Err() == nil && v != 2 {
		p.r.Unsupported("serializer snapshot wrapping %d is not supported (2 is)", v)
	}
	return p.versioned()
}

// versioned reads a class name, a version and the payload. It never gives nil, and a raw codec once r is broken.
func (p *snapshots) versioned() Codec {
	class, version := p.r.UTF(), p.r.Int32()
	if p.r.Err() != nil {
		return broken
	}
	if p.depth++; p.depth > maxDepth {
		p.r.Fail("serializers nest deeper than %d", maxDepth)
		return broken
	}
	defer func() { p.depth-- }()
	read := snapshotReaders[shortClass(class)]
	if read == nil {
		return p.foreign(class)
	}
	c := read(p, class, version)
	if p.r.Err() != nil {
		return broken
	}
	return c
}

// foreign makes the codec of a serializer of the user's own. Where its snapshot ends is not known; a hint promises that it
// holds nothing but its version, as that of a SimpleTypeSerializerSnapshot does.
func (p *snapshots) foreign(class string) Codec {
	if h := p.hintFor(class); h != nil {
		return p.raw(h.Class, "")
	}
	p.r.Unsupported("serializer snapshot %s is not known, nor where it ends", class)
	return broken
}

// hintFor finds a hint for a serializer, by its own class or that of its snapshot.
func (p *snapshots) hintFor(snapshot string) *hint {
	if h := p.o.Hints.bytes(snapshot); h != nil {
		return h
	}
	return p.o.Hints.bytes(shortClass(snapshot))
}

// broken is what reading gives after a fault; the fault is in the reader.
var broken = newRaw("", "its snapshot is broken")

// shortClass is the serializer's class: what stands before the $ of a nested snapshot class.
func shortClass(class string) string {
	i := strings.LastIndexByte(class, '$')
	if i < 0 || !strings.HasSuffix(class, "Snapshot") {
		return class
	}
	return class[:i]
}

// checkVersion faults unless the snapshot's version is one of those that are read here.
func (p *snapshots) checkVersion(class string, version, low, high int32) bool {
	if p.r.Err() == nil && (version < low || version > high) {
		p.r.Unsupported("version %d of %s is not supported (%d to %d are)", version, class, low, high)
	}
	return p.r.Err() == nil
}

// simple makes the reader of a snapshot without payload; in version 2 a class name stands there.
func simple(c Codec) snapshotReader {
	return func(p *snapshots, class string, version int32) Codec {
		if p.checkVersion(class, version, 2, 3) && version == 2 {
			p.r.UTF()
		}
		return c
	}
}

const (
	compositeMagic = 911108
	nestedMagic    = 1333245
)

// outer reads the head of a composite snapshot and gives the version of its outer part.
func (p *snapshots) outer(class string, version int32) int32 {
	if !p.checkVersion(class, version, 0, 3) || version < 3 {
		return version // legacy: no head
	}
	if m := p.r.Int32(); p.r.Err() == nil && m != compositeMagic {
		p.r.Fail("composite snapshot %s starts with %#x", class, uint32(m))
	}
	return p.r.Int32()
}

// nested reads the list of nested snapshots: want of them, or any number when want is negative.
func (p *snapshots) nested(want int) []Codec {
	magic, version := p.r.Int32(), p.r.Int32()
	switch {
	case p.r.Err() != nil:
		return nil
	case magic != nestedMagic:
		p.r.Fail("nested snapshots start with %#x", uint32(magic))
	case version != 1:
		p.r.Unsupported("version %d of nested snapshots is not supported (1 is)", version)
	}
	n := p.r.Count(minNested)
	if p.r.Err() == nil && want >= 0 && n != want {
		p.r.Fail("%d nested serializers, %d expected", n, want)
	}
	var all []Codec
	for range n {
		if p.r.Err() != nil {
			return nil
		}
		all = append(all, p.versioned())
	}
	return all
}

// composite makes the reader of a composite snapshot of n serializers without an outer payload.
func composite(n int, build func(nested []Codec) Codec) snapshotReader {
	return func(p *snapshots, class string, version int32) Codec {
		p.outer(class, version)
		nested := p.nested(n)
		if p.r.Err() != nil {
			return broken
		}
		return build(nested)
	}
}

// inFrame reads a value whose length stands before it. What is not supported in there costs only this value.
func (p *snapshots) inFrame(read func() Codec) Codec {
	n := p.r.Count(1)
	at := p.r.Offset()
	frame := p.r.Take(n)
	if p.r.Err() != nil {
		return broken
	}
	if class := classOf(frame); snapshotReaders[shortClass(class)] == nil {
		if h := p.hintFor(class); h != nil {
			return p.raw(h.Class, "") // whatever else its snapshot holds
		}
	}
	whole := p.r
	defer func() { p.r = whole }()
	p.r = javaio.NewReader(whole.File(), at, frame)
	c := read()
	err := p.r.Err()
	if err == nil {
		p.r.End()
		err = p.r.Err()
	}
	var unsupported *fault.UnsupportedError
	if errors.As(err, &unsupported) {
		return newRaw(classOf(frame), unsupported.What)
	}
	whole.SetErr(err)
	return c
}

// classOf reads the class name at the start of a snapshot.
func classOf(snapshot []byte) string {
	return javaio.NewReader("", 0, snapshot).UTF()
}

const optionalMapMagic = 0x000004F2C69A3D70

// optionalMap reads a map of framed keys and values, either of which may be absent. The frame of a key says no more than its
// name does; value reads that of a value, if it is present.
func (p *snapshots) optionalMap(value func(name string, present bool)) {
	if m := p.r.Int64(); p.r.Err() == nil && m != optionalMapMagic {
		p.r.Fail("optional map starts with %#x", uint64(m))
	}
	for range p.r.Count(2 + 1 + 1) {
		name := p.r.UTF()
		if p.r.Bool() {
			p.r.Skip(p.r.Count(1))
		}
		value(name, p.r.Bool())
		if p.r.Err() != nil {
			return
		}
	}
}
