package state

import "github.com/statebridge/statebridge/state/javaio"

// Options say what the bytes themselves do not.
type Options struct {
	Kryo5 bool   // Kryo 5 wrote generic types (Flink 2, metadata version 5 and above), else Kryo 2.24
	Hints *Hints // for classes whose layout is not in the snapshot
	// Names are those of the fields of a top-level row, by state.
	Names map[string][]string
}

// KeyedMeta is the head of a stream of keyed state.
type KeyedMeta struct {
	Version     int
	Compression bool // of key groups
	Key         Codec
	States      []*Schema // the index is the state's id in this stream
}

// OperatorMeta is the head of a stream of operator state.
type OperatorMeta struct {
	Compression         bool
	Operator, Broadcast []*Schema
}

// ReadKeyedMeta reads the head of a keyed stream; a fault is left in r. Schemas have no MaxParallelism yet.
func ReadKeyedMeta(r *javaio.Reader, o Options) *KeyedMeta {
	m := &KeyedMeta{Version: int(r.Int32())}
	if r.Err() == nil && m.Version != 6 {
		r.Unsupported("keyed state of format %d is not supported (6 is)", m.Version)
	}
	m.Compression = r.Bool()
	p := &snapshots{r: r, o: o}
	m.Key = p.wrapped()
	m.States = p.metaInfos(m.Key)
	return m
}

// ReadOperatorMeta reads the head of an operator state stream; a fault is left in r.
func ReadOperatorMeta(r *javaio.Reader, o Options) *OperatorMeta {
	m, version := &OperatorMeta{}, r.Int32()
	if r.Err() == nil && version != 5 && version != 6 {
		r.Unsupported("operator state of format %d is not supported (5 and 6 are)", version)
	}
	if version == 6 {
		m.Compression = r.Bool()
	}
	p := &snapshots{r: r, o: o}
	m.Operator = p.metaInfos(nil)
	m.Broadcast = p.metaInfos(nil)
	return m
}

// minMetaInfo is what the smallest meta info takes: an empty name and three int32.
const minMetaInfo = 2 + 3*4

func (p *snapshots) metaInfos(key Codec) []*Schema {
	n := int(p.r.Int16())
	if n < 0 || n > p.r.Len()/minMetaInfo {
		p.r.Fail("%d states do not fit %d bytes", n, p.r.Len())
		return nil
	}
	states := make([]*Schema, 0, n)
	for range n {
		s := p.metaInfo(key)
		if p.r.Err() != nil {
			return nil
		}
		states = append(states, s)
	}
	return states
}

// A metaInfo describes one state as it was registered.
type metaInfo struct {
	name        string
	backend     int32
	options     map[string]string
	serializers map[string]Codec
}

// The backend types by ordinal; a changelog has codes of its own.
const (
	backendKeyValue = iota
	backendOperator
	backendBroadcast
	backendPriorityQueue
	backendKeyValueV2
)

func (p *snapshots) metaInfo(key Codec) *Schema {
	r := p.r
	m := metaInfo{name: r.UTF(), backend: r.Int32(), options: map[string]string{}, serializers: map[string]Codec{}}
	for range r.Count(4) {
		k := r.UTF()
		m.options[k] = r.UTF()
	}
	for range r.Count(minSnapshot) {
		k := r.UTF()
		m.serializers[k] = p.wrapped()
	}
	if r.Err() != nil {
		return nil
	}
	return p.schema(&m, key)
}

func (p *snapshots) schema(m *metaInfo, key Codec) *Schema {
	s := &Schema{Name: m.name, Key: key, Value: p.serializer(m, "VALUE_SERIALIZER")}
	switch m.backend {
	case backendKeyValue, backendKeyValueV2:
		s.Namespace = p.serializer(m, "NAMESPACE_SERIALIZER")
		p.keyValue(s, m)
	case backendPriorityQueue:
		p.timer(s)
	case backendOperator:
		s.Key, s.Kind = nil, KindOpList
		if m.options["OPERATOR_STATE_DISTRIBUTION_MODE"] == "UNION" {
			s.Kind = KindOpUnion
		}
	case backendBroadcast:
		s.Key, s.Kind, s.MapKey = nil, KindBroadcast, p.serializer(m, "KEY_SERIALIZER")
	default:
		p.r.Unsupported("state %q: backend type %d is not supported", m.name, m.backend)
	}
	s.frame()
	p.nameRow(s)
	return s
}

// frame lets values and map keys take all their bytes. The elements of a list stand one behind the other.
func (s *Schema) frame() {
	if s.Kind != KindList {
		s.Value = whole(s.Value)
	}
	s.MapKey = whole(s.MapKey)
}

func (p *snapshots) serializer(m *metaInfo, name string) Codec {
	c := m.serializers[name]
	if c == nil {
		p.r.Fail("state %q has no %s", m.name, name)
		return newRaw("", "no serializer")
	}
	return c
}

// keyValue takes the wrappers that belong to the kind of state off s.Value.
func (p *snapshots) keyValue(s *Schema, m *metaInfo) {
	v2 := m.backend == backendKeyValueV2
	switch kind := m.options["KEYED_STATE_TYPE"]; kind {
	case "VALUE":
		s.Kind = KindValue
	case "REDUCING":
		s.Kind = KindReducing
	case "AGGREGATING", "FOLDING":
		s.Kind = KindAggregating
	case "LIST":
		s.Kind = KindList
		if !v2 {
			s.Value = listElement(s.Value)
		}
	case "MAP":
		s.Kind = KindMap
		switch c, ok := s.Value.(*mapCodec); {
		case v2:
			s.MapKey = p.serializer(m, "USER_KEY_SERIALIZER")
		case ok:
			s.MapKey, s.Value = c.key, c.value
		default:
			s.MapKey = opaque(s.Value, "map state without a map serializer")
			s.Value = s.MapKey
		}
	default:
		s.Kind, s.Value = KindValue, opaque(s.Value, "a state of kind "+kind)
	}
	_, s.TTL = s.Value.(*ttlCodec)
}

// listElement is what a list state holds; some other serializer cannot be told apart into elements.
func listElement(c Codec) Codec {
	if l, ok := c.(*listCodec); ok {
		return l.elem
	}
	return opaque(c, "list state without a list serializer")
}

// opaque keeps the reason of a codec that is opaque already.
func opaque(c Codec, why string) Codec {
	if t := c.Type(); t.Kind == Raw {
		return c
	}
	return newRaw(c.Type().Class, why)
}

func (p *snapshots) timer(s *Schema) {
	s.Kind = KindTimer
	t, ok := s.Value.(*timerCodec)
	if ok {
		s.Key, s.Namespace, s.Value = t.key, t.namespace, nil
		return
	}
	s.Key, s.Value = opaque(s.Value, "a priority queue that does not hold timers"), nil
}
