package javaobj

// class reads a class description, a reference to one, or null.
func (p *parser) class(depth int) *Class {
	tag := p.r.Uint8()
	if !p.ok() {
		return nil
	}
	switch tag {
	case tagNull:
		return nil
	case tagReference:
		c, ok := p.reference().(*Class)
		if !ok {
			p.r.Fail("Java reference to something that is no class")
		}
		return c
	case tagClassDesc, tagProxy:
		if c, ok := p.tagged(tag, depth).(*Class); ok {
			return c
		}
		return nil
	}
	p.r.Fail("tag 0x%02X where a Java class is expected", tag)
	return nil
}

func (p *parser) describe(tag uint8, depth int) Value {
	c := &Class{}
	if tag == tagProxy {
		p.handle(c)
		c.Flags = flagSerializable
		p.interfaces(c)
	} else {
		c.Name = p.r.UTF()
		c.SerialVersionUID = p.r.Int64()
		p.handle(c)
		c.Flags = p.r.Uint8()
		p.fields(c, depth)
	}
	p.annotations(depth)
	super := p.class(depth + 1)
	if !p.ok() {
		return nil
	}
	// A description that names itself, or one that is still being read, as its superclass would have no top.
	for s := super; s != nil; s = s.Super {
		if s == c {
			p.r.Fail("Java class %s extends itself", c.Name)
			return nil
		}
	}
	c.Super = super
	return c
}

func (p *parser) interfaces(c *Class) {
	n := p.r.Count(2)
	if !p.spend(n) {
		return
	}
	for i := 0; i < n && p.ok(); i++ {
		c.Interfaces = append(c.Interfaces, p.r.UTF())
	}
}

func (p *parser) fields(c *Class, depth int) {
	n := int(p.r.Uint16())
	if p.ok() && n > p.r.Len()/3 { // code and the length of a name
		p.r.Take(3 * n)
	}
	if !p.spend(n) {
		return
	}
	c.Fields = make([]ClassField, 0, n)
	for i := 0; i < n && p.ok(); i++ {
		f := ClassField{Code: p.r.Uint8(), Name: p.r.UTF()}
		switch {
		case !p.ok():
			return
		case f.Code == 'L' || f.Code == '[':
			name, ok := p.object(depth + 1).(string)
			if !ok {
				p.r.Fail("field %s of Java class %s has no type", f.Name, c.Name)
			}
			f.Type = name
		case primitiveSize(f.Code) == 0:
			p.r.Fail("field %s of Java class %s has unknown type code 0x%02X", f.Name, c.Name, f.Code)
		}
		c.Fields = append(c.Fields, f)
	}
}
