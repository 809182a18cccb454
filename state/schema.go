package state

import "github.com/statebridge/statebridge/state/javaio"

// Kind is the kind of a registered state, as it is printed.
type Kind string

// The kinds of state.
const (
	KindValue       Kind = "value"
	KindList        Kind = "list"
	KindMap         Kind = "map"
	KindReducing    Kind = "reducing"
	KindAggregating Kind = "aggregating"
	KindTimer       Kind = "timer"
	KindBroadcast   Kind = "broadcast"
	KindOpList      Kind = "oplist"
	KindOpUnion     Kind = "opunion"
)

// Codec reads what one Flink serializer wrote. A Codec is immutable and may be used by several goroutines.
type Codec interface {
	Type() *Type
	// FixedLen is the serializer's getLength: bytes, or -1. The layout of composite keys depends on it.
	FixedLen() int
	// Skip steps over one value; what does not parse faults r.
	Skip(r *javaio.Reader)
	// AppendJSON appends one value as canonical JSON to dst: equal values give equal bytes.
	AppendJSON(dst []byte, r *javaio.Reader) []byte
}

// KeyCodec is a Codec whose values can also be written, so that a key can be looked up.
type KeyCodec interface {
	Codec
	// AppendKey appends the serialized form of a JSON value; an error says what is expected.
	AppendKey(dst []byte, json []byte) ([]byte, error)
	// HashCode is Java's hashCode of the value, which decides its key group; false where it is not known from the type.
	HashCode(json []byte) (int32, bool)
}

// Schema describes one registered state: a table.
type Schema struct {
	Name      string
	Kind      Kind
	Key       Codec // nil for operator state
	Namespace Codec // nil for operator state; void namespaces are left out of rows
	MapKey    Codec // of map and broadcast states
	Value     Codec // value or accumulator; of list states one element; of map states one value; of timers nil. With TTL it steps over the time of last access
	TTL       bool  // values carry the time of last access
	// MaxParallelism decides the key-group prefix of composite keys: one byte up to 128, else two.
	MaxParallelism int
	// Ungrouped keys are the serialized key alone: no key group before it, no namespace behind. So has Fluss its tables.
	Ungrouped bool
	// KeyInValue says that the value is the whole row: it has the members of the key once more, under the same names.
	KeyInValue bool
}

// Row is one row of a table, members as canonical JSON; nil where they do not apply. Its slices are valid until the
// next use of the Row, which keeps its buffers: decoding into the same Row again and again allocates nothing.
type Row struct {
	KeyGroup                      int
	Key, Namespace, MapKey, Value []byte
	TTL                           int64 // ms of last access; of a list the newest
	HasTTL                        bool

	keyBuf, namespaceBuf, mapKeyBuf, valueBuf []byte
	reader                                    javaio.Reader
}

// resetKey forgets what the last key held; the value goes too, since a timer's stands in the key.
func (row *Row) resetKey() {
	row.KeyGroup = 0
	row.Key, row.Namespace, row.MapKey, row.Value = nil, nil, nil, nil
	row.TTL, row.HasTTL = 0, false
}
