package state

import "slices"

// objects compares two POJOs by the names of their fields.
func (c *comparer) objects(path Path, a, b *objectCodec) {
	if a.typ.Class != b.typ.Class {
		c.changed(path, a, b, "class changed")
		return
	}
	for i, f := range a.typ.Fields {
		at := path + "." + Path(f.Name)
		if j := fieldIndex(b.typ.Fields, f.Name); j >= 0 {
			c.codecs(at, a.fields[i], b.fields[j])
			continue
		}
		c.add(Difference{What: "field removed", Path: at, Before: f.Type.String(), Effect: NeedsMigration})
	}
	for _, f := range b.typ.Fields {
		if fieldIndex(a.typ.Fields, f.Name) < 0 {
			c.add(Difference{What: "field added", Path: path + "." + Path(f.Name), After: f.Type.String(), Effect: NeedsMigration})
		}
	}
	c.reordered(path, a.typ.Fields, b.typ.Fields)
	c.subclasses(path, a, b)
}

func fieldIndex(fields []Field, name string) int {
	return slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
}

// reordered: each snapshot says in which order its own fields stand.
func (c *comparer) reordered(path Path, a, b []Field) {
	if na, nb := fieldNames(a), fieldNames(b); !slices.Equal(common(na, nb), common(nb, na)) {
		c.add(Difference{What: "fields reordered", Path: path})
	}
}

func fieldNames(fields []Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// subclasses compares those that both know. New ones do no harm, and one that the newer snapshot lacks may not have been met again.
func (c *comparer) subclasses(path Path, a, b *objectCodec) {
	before, after := a.subclassCodecs(), b.subclassCodecs()
	for _, s := range a.typ.Subclasses {
		at := path + "." + Path("("+s.Class+")")
		switch x, y := before[s.Class], after[s.Class]; {
		case y == nil:
			c.add(Difference{What: "subclass no longer listed", Path: at})
		case x != nil:
			c.codecs(at, x, y)
		}
	}
	for _, s := range b.typ.Subclasses {
		if before[s.Class] == nil {
			c.add(Difference{What: "subclass added", Path: path, After: s.Class})
		}
	}
}

func (c *objectCodec) subclassCodecs() map[string]Codec {
	all := map[string]Codec{}
	for _, s := range c.registered {
		all[s.codec.Type().Class] = s.codec
	}
	for name, s := range c.others {
		all[name] = s.codec
	}
	return all
}
