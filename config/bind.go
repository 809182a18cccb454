package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// binder lays the nodes of a YAML file onto the structs. The library's own decoder stops at its first fault; this one names them all.
type binder struct {
	environ Environ
	faults  *faults
	anchors map[string]ast.Node
}

var columnsType = reflect.TypeFor[Columns]()

func (b *binder) bind(path string, n ast.Node, v reflect.Value) {
	line := lineOf(n)
	b.faults.lines[path] = line
	if n = b.resolve(n); n == nil {
		b.faults.at(path, line, "is an alias that leads nowhere")
		return
	}
	if n.Type() == ast.NullType { // "job:" with nothing behind it is as good as absent
		return
	}
	switch {
	case v.Type() == columnsType:
		b.columns(path, n, v)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setDefaults(v.Elem())
		b.bind(path, n, v.Elem())
	case v.Kind() == reflect.Struct:
		b.members(path, n, v)
	case v.Kind() == reflect.Slice:
		b.items(path, n, v)
	default:
		if text, ok := b.scalar(path, n); ok {
			if err := setText(v, text); err != nil {
				b.faults.at(path, line, "%v", err)
			}
		}
	}
}

func (b *binder) members(path string, n ast.Node, v reflect.Value) {
	pairs, ok := mapping(n)
	if !ok {
		b.faults.at(path, lineOf(n), "must be a mapping")
		return
	}
	names := memberNames(v.Type())
	for _, p := range pairs {
		name := keyText(p)
		i := slices.Index(names, name)
		if i < 0 {
			known := slices.Sorted(slices.Values(names))
			b.faults.at(join(path, name), lineOf(p.Key), "is unknown; known are %s", strings.Join(known, ", "))
			continue
		}
		b.bind(join(path, name), p.Value, v.Field(i))
	}
}

func memberNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

func (b *binder) items(path string, n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		b.faults.at(path, lineOf(n), "must be a list")
		return
	}
	for i, item := range seq.Values {
		e := reflect.New(v.Type().Elem()).Elem()
		if e.Kind() == reflect.Struct {
			setDefaults(e)
		}
		b.bind(index(path, i), item, e)
		v.Set(reflect.Append(v, e))
	}
}

func (b *binder) columns(path string, n ast.Node, v reflect.Value) {
	pairs, ok := mapping(n)
	if !ok {
		b.faults.at(path, lineOf(n), "must be a mapping of column names to paths")
		return
	}
	for _, p := range pairs {
		name := keyText(p)
		v.Set(reflect.Append(v, reflect.ValueOf(b.column(join(path, name), name, b.resolve(p.Value)))))
	}
}

// column reads a path, or a mapping of path and type.
func (b *binder) column(path, name string, n ast.Node) Column {
	from := struct {
		Path string `yaml:"path"`
		Type string `yaml:"type"`
	}{}
	v := reflect.ValueOf(&from).Elem()
	if _, ok := mapping(n); ok {
		b.members(path, n, v)
	} else if text, ok := b.scalar(path, n); ok {
		from.Path = text
	}
	return Column{Name: name, Path: from.Path, Type: from.Type}
}

// scalar gives the text of a scalar as the file has it (a password 0123 stays 0123), with its variables replaced.
func (b *binder) scalar(path string, n ast.Node) (string, bool) {
	var text string
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	default:
		b.faults.at(path, lineOf(n), "must be a single value")
		return "", false
	}
	text, err := interpolate(text, b.environ)
	if err != nil {
		b.faults.at(path, lineOf(n), "%v", err)
		return "", false
	}
	return text, true
}
