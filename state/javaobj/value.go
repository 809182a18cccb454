package javaobj

// Value is one node of the graph: nil, bool, int8, uint16 (a char), int16, int32, int64, float32, float64, string,
// *Object, *Array, *Enum, *Class, or Block. The graph can have cycles: follow it to a depth that is known beforehand.
type Value any

// Block is data that a class wrote by itself, outside its fields.
type Block []byte

// Class describes a class as the stream has it.
type Class struct {
	Name             string // as Class.getName prints it: "a.b.C$D", "[I", "[La.b.C;"
	SerialVersionUID int64
	Flags            uint8
	Fields           []ClassField
	Interfaces       []string // of a dynamic proxy, which has no name and no fields
	Super            *Class
}

// ClassField is a declared field.
type ClassField struct {
	Code byte // B C D F I J S Z, L or [
	Name string
	Type string // of L and [: "Ljava/lang/String;"
}

// Object is an instance: one part for each class of its hierarchy, the topmost first.
type Object struct {
	Class *Class
	Parts []Part
}

// Part is what one class of the hierarchy contributes.
type Part struct {
	Class       *Class
	Values      []Value // of Class.Fields
	Annotations []Value // blocks and objects that its writeObject added
}

// Array is an array of objects, or of primitives that are left as big-endian bytes.
type Array struct {
	Class    *Class
	Len      int
	Elements []Value // of objects
	Raw      []byte  // of primitives
}

// Enum is a constant.
type Enum struct {
	Class *Class
	Name  string
}

// Field gives the value of a field, the most derived class first, and whether there is one.
func (o *Object) Field(name string) (Value, bool) {
	if o == nil {
		return nil, false
	}
	for i := len(o.Parts) - 1; i >= 0; i-- {
		p := &o.Parts[i]
		for j, f := range p.Class.Fields {
			if f.Name == name && j < len(p.Values) {
				return p.Values[j], true
			}
		}
	}
	return nil, false
}

// Int gives an int field, and whether there is one.
func (o *Object) Int(name string) (int, bool) {
	v, _ := o.Field(name)
	n, ok := v.(int32)
	return int(n), ok
}

// Bool gives a boolean field; absent is false.
func (o *Object) Bool(name string) bool {
	v, _ := o.Field(name)
	b, _ := v.(bool)
	return b
}

// String gives a String field; null or absent is "".
func (o *Object) String(name string) string {
	v, _ := o.Field(name)
	s, _ := v.(string)
	return s
}

// Object gives an object field; null or absent is nil, on which every method of Object works.
func (o *Object) Object(name string) *Object {
	v, _ := o.Field(name)
	b, _ := v.(*Object)
	return b
}

// Enum gives the constant's name of an enum field; null or absent is "".
func (o *Object) Enum(name string) string {
	v, _ := o.Field(name)
	if e, ok := v.(*Enum); ok {
		return e.Name
	}
	return ""
}

// ClassName gives the class of o; that of nil is "".
func (o *Object) ClassName() string {
	if o == nil {
		return ""
	}
	return o.Class.Name
}

// IsA says whether o's class or one that it extends has this name.
func (o *Object) IsA(class string) bool {
	if o == nil {
		return false
	}
	for c := o.Class; c != nil; c = c.Super {
		if c.Name == class {
			return true
		}
	}
	return false
}

// Elements gives the elements of v if it is an array of objects or a java.util list whose elements follow its fields
// (ArrayList, LinkedList, Arrays$ArrayList, the immutable and the unmodifiable ones), and whether it is.
func Elements(v Value) ([]Value, bool) {
	return elements(v, 4)
}

func elements(v Value, wrappers int) ([]Value, bool) {
	if a, ok := v.(*Array); ok {
		return a.Elements, a.Raw == nil
	}
	o, ok := v.(*Object)
	if !ok || wrappers == 0 {
		return nil, false
	}
	switch o.ClassName() {
	case "java.util.ArrayList", "java.util.LinkedList", "java.util.CollSer":
		return objects(o.Parts[len(o.Parts)-1].Annotations), true
	case "java.util.Arrays$ArrayList":
		a, _ := o.Field("a")
		return elements(a, wrappers-1)
	case "java.util.Collections$SingletonList":
		e, _ := o.Field("element")
		return []Value{e}, true
	case "java.util.Collections$EmptyList":
		return nil, true
	case "java.util.Collections$UnmodifiableRandomAccessList", "java.util.Collections$UnmodifiableList":
		l, _ := o.Field("list")
		return elements(l, wrappers-1)
	}
	return nil, false
}

// objects leaves the blocks out.
func objects(vs []Value) []Value {
	var out []Value
	for _, v := range vs {
		if _, ok := v.(Block); !ok {
			out = append(out, v)
		}
	}
	return out
}
