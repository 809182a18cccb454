package config

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	b, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaGolden(t *testing.T) { golden(t, "testdata/schema.golden", string(Schema())) }

func TestSchema(t *testing.T) {
	s := compiled(t)
	for _, file := range []string{"testdata/bank.yaml", "testdata/full.yaml"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t, s, b); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	sink := "consumers: [{name: a, operator: o, state: s}]\nsinks: [{name: x, consumers: [a], "
	for text, ok := range map[string]bool{
		small:                                           true,
		small + "nats: {ulr: x}\n":                      false,
		small + "colour: red\n":                         false,
		"source: {name: s}\n":                           false, // no consumers
		sink + "sqlite: {path: p}}]\n":                  true,
		sink + "sqlite: {path: p, mode: x}}]\n":         false,
		sink + "sqlite: {}}]\n":                         false,
		sink + "sqlite: {path: p}, postgres: {}}]\n":    false,
		"source: {partitions: 0}\n" + sink[:46]:         false,
		"source: {partitions: '${P:-4}'}\n" + sink[:46]: true,
		"log: {level: loud}\n" + sink[:46]:              false,
	} {
		if err := check(t, s, []byte(text)); (err == nil) != ok {
			t.Errorf("valid %v, want %v:\n%s\n%v", err == nil, ok, text, err)
		}
	}
}

// TestReference: the page that documents the file names every member with its variable and default.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("../docs/reference/config.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, path := range members(reflect.TypeFor[Config](), "") {
		if !strings.Contains(page, "`"+path+"`") {
			t.Errorf("docs/reference/config.md does not name `%s`", path)
		}
	}
	for _, s := range Settings() {
		if !strings.Contains(page, "`"+s.Env+"`") {
			t.Errorf("docs/reference/config.md does not name `%s`", s.Env)
		}
		if s.Default != "" && !strings.Contains(page, "`"+s.Default+"`") {
			t.Errorf("docs/reference/config.md does not name %s, the default of %s", s.Default, s.Path)
		}
	}
}

// members gives every path that holds a value, "sinks[].redis.url" where lists are in between.
func members(t reflect.Type, path string) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return members(t.Elem(), path)
	case t.Kind() == reflect.Slice && t != columnsType && t.Elem().Kind() == reflect.Struct:
		return members(t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct:
		return []string{path}
	}
	var list []string
	for i := range t.NumField() {
		list = append(list, members(t.Field(i).Type, join(path, t.Field(i).Tag.Get("yaml")))...)
	}
	return list
}
