package state

// A kryoType is how Kryo writes one class.
type kryoType struct {
	name      string
	kind      TypeKind
	read      func(k *kryoReader, dst []byte, t *kryoType) []byte // nil: not read here
	why       string                                              // then
	unmarked  bool                                                // no reference mark where null is not possible
	text      bool                                                // a java.lang.String: a map of such keys is an object
	elem      *kryoType                                           // of an array of a final class
	generic   bool                                                // its head depends on the type parameters of a field
	hint      *hint                                               // of a class that Kryo does not describe
	fields    []kryoField                                         // of a bean
	constants []string                                            // of an enum
}

func unknownKryo(class, why string) *kryoType { return &kryoType{name: class, why: why} }

// A kryoVersion has the classes that one version of Kryo writes in ways of its own.
type kryoVersion struct {
	little  bool // Kryo 5
	classes map[string]*kryoType
	ids     []*kryoType // the classes that Flink registers, by id
}

func (v *kryoVersion) String() string {
	if v.little {
		return "Kryo 5"
	}
	return "Kryo 2.24"
}

const beanReason = "its fields are not in the snapshot"

// find gives nil for a class that Kryo's bytes do not describe.
func (v *kryoVersion) find(class string) *kryoType {
	if t := v.classes[class]; t != nil {
		return t
	}
	return v.arrayOf(class)
}

func (v *kryoVersion) byName(class string) *kryoType {
	if t := v.find(class); t != nil {
		return t
	}
	return unknownKryo(class, beanReason)
}

// kryoInterfaces are declared classes of which others are stored.
var kryoInterfaces = map[string]TypeKind{
	"java.lang.Object": Any, "java.lang.Number": Any, "java.io.Serializable": Any, "java.lang.Comparable": Any, "java.lang.CharSequence": Any,
	"java.lang.Iterable": List, "java.util.Collection": List, "java.util.List": List, "java.util.Queue": List, "java.util.Deque": List,
	"java.util.AbstractList": List, "java.util.AbstractCollection": List,
	"java.util.Set": Set, "java.util.SortedSet": Set, "java.util.NavigableSet": Set, "java.util.AbstractSet": Set,
	"java.util.Map": Map, "java.util.SortedMap": Map, "java.util.NavigableMap": Map, "java.util.AbstractMap": Map,
	"java.util.concurrent.ConcurrentMap": Map,
}

// declared is the type of a state or field of the given class.
func (c *kryoCodec) declared(class string) Type {
	t := c.own(c.byName(class))
	kind, abstract := kryoInterfaces[class]
	switch {
	case t.hint != nil && (t.fields != nil || t.constants != nil || t.hint.Frame != ""):
		typ := *t.hint.kryoTyped()
		typ.Nullable = true
		return typ
	case t.hint != nil:
		return Type{Kind: Raw, Class: class, Why: "Kryo class: " + unsizedReason}
	case t.read != nil:
		kind = t.kind
	case !abstract:
		return Type{Kind: Raw, Class: class, Why: "Kryo class: " + t.why}
	}
	typ := Type{Kind: kind, Class: class, Nullable: true}
	switch kind {
	case List, Set:
		typ.Elem = anyType
		if t.elem != nil {
			typ.Elem = &Type{Kind: t.elem.kind, Nullable: true}
		}
	case Map:
		typ.Key, typ.Elem = anyType, anyType
	}
	return typ
}

// own gives t, unless the job has a default serializer for its class or one that it extends.
func (c *kryoCodec) own(t *kryoType) *kryoType {
	if t.hint != nil && t.hint.decode != nil {
		return t // which is about what any serializer wrote
	}
	for _, name := range c.replaced {
		kind, abstract := kryoInterfaces[name]
		collection := name == "java.util.Collection" || name == "java.lang.Iterable" || name == "java.util.AbstractCollection"
		if t.name == name || abstract && (kind == Any || kind == t.kind || collection && t.kind == Set) {
			return unknownKryo(t.name, "the job set a default serializer for "+name)
		}
	}
	return t
}

type kryoRead = func(k *kryoReader, dst []byte, t *kryoType) []byte

// kryoScalars are classes whose data has no parts that are objects.
var kryoScalars = []struct {
	name string
	kind TypeKind
	read kryoRead
}{
	{"java.lang.Integer", Int32, readKryoInt}, {"java.lang.String", String, readKryoString}, {"java.lang.Float", Float32, readKryoFloat},
	{"java.lang.Boolean", Bool, readKryoBool}, {"java.lang.Byte", Int8, readKryoByte}, {"java.lang.Character", Char, readKryoChar},
	{"java.lang.Short", Int16, readKryoShort}, {"java.lang.Long", Int64, readKryoLong}, {"java.lang.Double", Float64, readKryoDouble},
	{"java.math.BigInteger", BigInt, readKryoBigInt}, {"java.math.BigDecimal", Decimal, readKryoBigDec},
	{"java.util.Date", Instant, readKryoDate}, {"java.sql.Date", Instant, readKryoDate}, {"java.sql.Time", Instant, readKryoDate},
	{"java.sql.Timestamp", Instant, readKryoTimestamp}, {"java.util.UUID", UUID, readKryoUUID}, {"java.net.URI", String, readKryoText},
	{"java.time.Instant", Instant, readKryoInstant}, {"java.time.LocalDate", Date, readKryoLocalDate},
	{"java.time.LocalTime", Time, readKryoLocalTime}, {"java.time.LocalDateTime", DateTime, readKryoLocalDateTime},
	{"java.lang.StringBuilder", String, readKryoText}, {"java.lang.StringBuffer", String, readKryoText},
	{"[B", Bytes, readKryoBytes},
	{"java.util.Collections$ReverseComparator", Null, readKryoNothing}, {"java.lang.String$CaseInsensitiveComparator", Null, readKryoNothing},
}

// numbered are the ids of the boxed types, in order.
const numbered = 9

var kryoLists = []string{
	"java.util.ArrayList", "java.util.LinkedList", "java.util.Vector", "java.util.Stack", "java.util.ArrayDeque",
	"java.util.concurrent.CopyOnWriteArrayList", "java.util.concurrent.ConcurrentLinkedQueue", "java.util.concurrent.ConcurrentLinkedDeque",
	"java.util.concurrent.LinkedBlockingQueue", "java.util.concurrent.LinkedBlockingDeque",
	"java.util.Collections$UnmodifiableList", "java.util.Collections$UnmodifiableRandomAccessList", "java.util.Collections$UnmodifiableCollection",
	"java.util.Collections$SynchronizedList", "java.util.Collections$SynchronizedRandomAccessList",
}

var kryoSets = []string{
	"java.util.HashSet", "java.util.LinkedHashSet", "java.util.concurrent.CopyOnWriteArraySet",
	"java.util.Collections$UnmodifiableSet", "java.util.Collections$SynchronizedSet",
}

var kryoMaps = []string{
	"java.util.HashMap", "java.util.LinkedHashMap", "java.util.Hashtable", "java.util.WeakHashMap", "java.util.concurrent.ConcurrentHashMap",
	"java.util.Collections$UnmodifiableMap", "java.util.Collections$SynchronizedMap",
	"java.util.ImmutableCollections$MapN", "java.util.ImmutableCollections$Map1",
}

// collections adds those that are written alike in both versions.
func (v *kryoVersion) collections() {
	add := func(kind TypeKind, read kryoRead, names ...string) {
		for _, n := range names {
			v.classes[n] = &kryoType{name: n, kind: kind, read: read}
		}
	}
	add(List, readKryoList, kryoLists...)
	add(Set, readKryoSet, kryoSets...)
	add(List, readKryoListOf, "java.util.ImmutableCollections$ListN", "java.util.ImmutableCollections$List12", "java.util.ImmutableCollections$SubList")
	add(Set, readKryoSetOf, "java.util.ImmutableCollections$SetN", "java.util.ImmutableCollections$Set12")
	add(Map, readKryoMap, kryoMaps...)
	add(Set, readKryoSorted, "java.util.TreeSet")
	add(Map, readKryoSortedMap, "java.util.TreeMap")
	add(List, readKryoQueue, "java.util.PriorityQueue")
	add(List, readKryoAsList, "java.util.Arrays$ArrayList")
	add(List, readKryoEmptyList, "java.util.Collections$EmptyList")
	add(Set, readKryoEmptyList, "java.util.Collections$EmptySet")
	add(Map, readKryoEmptyMap, "java.util.Collections$EmptyMap")
	add(List, readKryoSingleton, "java.util.Collections$SingletonList")
	add(Set, readKryoSingleton, "java.util.Collections$SingletonSet")
	add(Map, readKryoSingletonMap, "java.util.Collections$SingletonMap")
	add(Any, readKryoOptional, "java.util.Optional")
}

// flinkKryo are the classes that Flink registers from id 73 on.
var flinkKryo = []string{
	"java.util.Arrays$ArrayList", "java.util.BitSet", "java.util.PriorityQueue", "java.util.regex.Pattern", "java.sql.Date", "java.sql.Time",
	"java.sql.Timestamp", "java.net.URI", "java.net.InetSocketAddress", "java.util.UUID", "java.util.Locale", "java.text.SimpleDateFormat",
}

const firstFlinkID = 73

func newKryoVersion(little bool) kryoVersion {
	v := kryoVersion{little: little, classes: map[string]*kryoType{}, ids: make([]*kryoType, firstFlinkID)}
	for i, s := range kryoScalars {
		t := &kryoType{name: s.name, kind: s.kind, read: s.read, unmarked: i < numbered && s.kind != String, text: s.name == "java.lang.String"}
		v.classes[s.name] = t
		if i < numbered {
			v.ids[i] = t
		}
	}
	v.collections()
	v.primitives()
	v.generics()
	v.jdk()
	v.zoned()
	v.small()
	for _, name := range flinkKryo {
		v.ids = append(v.ids, v.byName(name))
	}
	return v
}

var kryo24, kryo5 kryoVersion

func init() { // the readers refer back to the versions
	kryo24, kryo5 = newKryoVersion(false), newKryoVersion(true)
}
