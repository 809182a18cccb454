package state

import "github.com/statebridge/statebridge/state/javaobj"

// object reads a Java object of the snapshot.
func (p *snapshots) object() javaobj.Value { return javaobj.Parse(p.r) }

// minObject is what a Java stream takes at least: its header and a tag.
const minObject = 5

// readRowData reads the types of a row's fields. Their names are not in the snapshot.
func readRowData(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	t := &sqlType{root: "ROW", typ: Type{Kind: Tuple, Class: class}}
	for range p.r.Count(minObject) {
		f := parseSQLType(p.object(), 0)
		if p.r.Err() != nil {
			return broken
		}
		t.fields = append(t.fields, f)
	}
	p.nested(len(t.fields)) // the same again, as serializers
	t.typ.Fields = make([]Field, len(t.fields))
	for i, f := range t.fields {
		t.typ.Fields[i] = Field{positionName(i), &f.typ}
	}
	return &sqlCodec{t}
}

// readBinaryRow reads a serializer that knows how many fields there are, but no types.
func readBinaryRow(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	p.r.Skip(4)
	return &sqlCodec{unknownSQL(class, "a row whose types are not in the snapshot")}
}

func readDecimalData(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	precision, scale := p.r.Int32(), p.r.Int32()
	return sqlDecimal(int(precision), int(scale))
}

func readTimestampData(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 1, 3)
	return sqlTimestamp(DateTime, int(p.r.Int32()))
}

func readArrayData(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	t := &sqlType{root: "ARRAY", elem: parseSQLType(p.object(), 0)}
	p.object() // the element's serializer
	t.typ = Type{Kind: List, Elem: &t.elem.typ}
	return &sqlCodec{t}
}

func readMapData(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	t := &sqlType{root: "MAP", key: parseSQLType(p.object(), 0), elem: parseSQLType(p.object(), 0)}
	for range 2 { // their serializers
		p.object()
	}
	t.typ = Type{Kind: Map, Key: &t.key.typ, Elem: &t.elem.typ}
	return &sqlCodec{t}
}

func readRawValue(p *snapshots, class string, version int32) Codec {
	p.outer(class, version)
	p.nested(1)
	return &sqlCodec{unknownSQL(class, "a RAW value")}
}

func readLinkedList(p *snapshots, class string, version int32) Codec {
	outer := p.outer(class, version)
	masked := outer == 2 || outer >= 3 && p.r.Bool()
	nested := p.nested(1)
	if p.r.Err() != nil {
		return broken
	}
	return &sqlListCodec{Type{Kind: List, Elem: nested[0].Type()}, nested[0], masked}
}

// readSortedMap reads a map with a comparator, whose order JSON does not keep.
func readSortedMap(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	p.object()
	nested := p.nested(2)
	if p.r.Err() != nil {
		return broken
	}
	return newMap(nested)
}

// readExternal reads a wrapper that converts between classes: its data are those of the internal serializer.
func readExternal(p *snapshots, class string, version int32) Codec {
	p.outer(class, version)
	dataType, _ := p.object().(*javaobj.Object)
	p.r.Bool()
	nested := p.nested(1)
	if p.r.Err() != nil {
		return broken
	}
	return refine(nested[0], parseSQLType(dataType.Object("logicalType"), 0))
}

// refine gives the codec of a number or timestamp the meaning that the logical type knows: a day, a time, a zone.
func refine(c Codec, t *sqlType) Codec {
	switch {
	case t.typ.Kind == Instant && c.Type().Kind == DateTime:
		return sqlTimestamp(Instant, t.precision)
	case (t.typ.Kind == Date || t.typ.Kind == Time) && c == Codec(int32Codec):
		return sqlDay(t)
	}
	return c
}
