package state

import "strings"

// Kryo leaves the class of an array's elements out where the array's own class says it: where that of its elements is final, as all classes of
// arrays are. So the layout of an array is known only for classes of which that is known.

// kryoOpen are classes of which others may be derived, besides kryoInterfaces and the collections.
var kryoOpen = map[string]bool{
	"java.math.BigDecimal": true, "java.math.BigInteger": true, "java.util.Date": true, "java.sql.Date": true, "java.sql.Time": true, "java.sql.Timestamp": true,
	"java.util.BitSet": true, "java.net.InetSocketAddress": true, "java.text.SimpleDateFormat": true, "java.util.TreeSet": true, "java.util.TreeMap": true,
	"java.util.PriorityQueue": true, "java.util.Calendar": true, "java.util.GregorianCalendar": true, "java.util.TimeZone": true,
}

// kryoFinal are classes of which none can be derived, besides those of java.time that have a layout. TimeUnit is not among them: its constants had bodies before Java 9.
var kryoFinal = map[string]bool{
	"java.lang.Boolean": true, "java.lang.Byte": true, "java.lang.Character": true, "java.lang.Short": true, "java.lang.Integer": true, "java.lang.Long": true,
	"java.lang.Float": true, "java.lang.Double": true, "java.lang.String": true, "java.lang.StringBuilder": true, "java.lang.StringBuffer": true,
	"java.util.UUID": true, "java.util.Locale": true, "java.util.Currency": true, "java.util.Optional": true, "java.util.regex.Pattern": true,
	"java.util.OptionalInt": true, "java.util.OptionalLong": true, "java.util.OptionalDouble": true,
	"java.net.URI": true, "java.net.URL": true, "java.math.RoundingMode": true,
}

func init() {
	for _, names := range [][]string{kryoLists, kryoSets, kryoMaps} {
		for _, name := range names {
			kryoOpen[name] = true
		}
	}
}

// primitives adds the arrays of primitives but bytes.
func (v *kryoVersion) primitives() {
	for name, elem := range map[string]string{"[I": "Integer", "[J": "Long", "[S": "Short", "[F": "Float", "[D": "Double", "[C": "Character", "[Z": "Boolean"} {
		v.classes[name] = &kryoType{name: name, kind: List, read: readKryoPrimitives, elem: v.classes["java.lang."+elem]}
	}
}

// arrayOf gives the type of an array of objects, or nil where the layout is not known.
func (v *kryoVersion) arrayOf(class string) *kryoType {
	dimensions := len(class) - len(strings.TrimLeft(class, "["))
	if dimensions == 0 || dimensions > 255 { // what a class file can name
		return nil
	}
	inner := class[1:]
	t := &kryoType{name: class, kind: List, read: readKryoArray}
	if dimensions > 1 {
		if t.elem = v.find(inner); t.elem == nil {
			return nil
		}
		return t
	}
	name, isClass := strings.CutPrefix(strings.TrimSuffix(inner, ";"), "L")
	_, isInterface := kryoInterfaces[name]
	known := v.classes[name]
	switch {
	case !isClass:
		return nil
	case isInterface || kryoOpen[name]:
		return t
	case known != nil && (kryoFinal[name] || strings.HasPrefix(name, "java.time.")):
		t.elem = known
		return t
	}
	return nil
}
