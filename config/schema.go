package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Schema gives the JSON Schema (2020-12) of the file, for editors and for checks before a deployment.
// It asks for no more than Load does, and what depends on several members is left to Load.
func Schema() []byte {
	root := schemaOf(reflect.TypeFor[Config](), false)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Statebridge configuration"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps of text and numbers only
	}
	return append(b, '\n')
}

type object = map[string]any

// A value may come from a variable, whatever its type.
var variable = object{"type": "string", "pattern": `\$\{`}

// schemaOf requires members of lists only: any other scalar may come from the environment.
func schemaOf(t reflect.Type, inList bool) object {
	switch {
	case t == columnsType:
		path := object{"type": "string", "minLength": 1}
		return object{"type": "object", "additionalProperties": object{"anyOf": []object{path, {
			"type": "object", "properties": object{"path": path, "type": object{"anyOf": []object{{"const": Text}, variable}}}, "required": []string{"path"}, "additionalProperties": false,
		}}}}
	case t == durationType:
		return object{"type": "string", "examples": []string{"500ms", "10s", "24h"}}
	case t == sizeType:
		return object{"type": "string", "examples": []string{"64MiB", "512MiB", "2GiB"}}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), inList)
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), true)}
	case t.Kind() == reflect.Struct:
		return structSchema(t, inList)
	}
	return object{"type": "string"}
}

func structSchema(t reflect.Type, inList bool) object {
	members := object{}
	var required []string
	var oneOf []object
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		members[name] = memberSchema(f, inList)
		if f.Tag.Get("required") != "" && (inList || f.Type.Kind() == reflect.Slice) {
			required = append(required, name)
		}
		if f.Tag.Get("oneof") != "" {
			oneOf = append(oneOf, object{"required": []string{name}})
		}
	}
	s := object{"type": "object", "additionalProperties": false, "properties": members}
	if required != nil {
		s["required"] = required
	}
	if oneOf != nil {
		s["oneOf"] = oneOf
	}
	return s
}

func memberSchema(f reflect.StructField, inList bool) object {
	s := schemaOf(f.Type, inList)
	switch {
	case f.Tag.Get("enum") != "":
		s = object{"anyOf": []object{{"enum": strings.Split(f.Tag.Get("enum"), ",")}, variable}}
	case f.Type.Kind() == reflect.Int:
		s = object{"anyOf": []object{{"type": "integer", "minimum": number(f.Tag.Get("min")), "maximum": number(f.Tag.Get("max"))}, variable}}
	case f.Type.Kind() == reflect.Slice && f.Type != columnsType && f.Tag.Get("required") != "":
		s["minItems"] = 1
	}
	s["description"] = f.Tag.Get("doc")
	if d, ok := f.Tag.Lookup("default"); ok {
		s["default"] = d
		if f.Type.Kind() == reflect.Int {
			s["default"] = number(d)
		}
	}
	return s
}

func number(text string) int { n, _ := strconv.Atoi(text); return n }
