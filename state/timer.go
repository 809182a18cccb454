package state

import "github.com/statebridge/statebridge/state/javaio"

// ReadTimerSchema reads the two serializer snapshots, key and namespace, that stand before timers outside of a backend's own
// streams; a fault is left in r. The schema is that of a timer state of the given name.
func ReadTimerSchema(r *javaio.Reader, o Options, name string) *Schema {
	p := &snapshots{r: r, o: o}
	return &Schema{Name: name, Kind: KindTimer, Key: p.versioned(), Namespace: p.versioned()}
}
