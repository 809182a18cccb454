package state

import "github.com/statebridge/statebridge/state/javaio"

// ReadLoggedMeta reads the description of one keyed state as a changelog holds it: without the key's serializer, which is
// key or, of timers, stands inside. A fault is left in r.
func ReadLoggedMeta(r *javaio.Reader, o Options, key Codec) *Schema {
	ahead := *r
	name, backend := ahead.UTF(), ahead.Int32()
	if ahead.Err() == nil && backend != backendKeyValue && backend != backendPriorityQueue {
		r.Unsupported("state %q: changes of backend type %d are not supported", name, backend)
		return nil
	}
	p := &snapshots{r: r, o: o}
	return p.metaInfo(key)
}

// UnknownKey stands for a key whose serializer is known nowhere.
func UnknownKey(why string) Codec { return newRaw("", why) }
