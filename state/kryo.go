package state

import "github.com/statebridge/statebridge/state/javaio"

// readKryo reads the declared class and the classes that have numbers.
func readKryo(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 2, 2)
	declared := p.r.UTF()
	skip := func(string, bool) {}
	p.optionalMap(nil, func(_ string, present bool) {
		if present {
			p.r.Skip(p.r.Count(1))
		}
	})
	_ = skip
	p.optionalMap(nil, func(_ string, present bool) {
		if present {
			p.r.Skip(p.r.Count(1))
		}
	})
	p.optionalMap(nil, func(_ string, present bool) {
		if present {
			p.r.Skip(p.r.Count(1))
		}
	})
	return newRaw(declared, "not yet")
}

var _ = javaio.NewReader
