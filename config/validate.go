package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate checks a config that was built by hand as Load checks one that was read.
func (c *Config) Validate() error {
	f := new(faults)
	c.validate(f)
	return f.err()
}

func (c *Config) validate(f *faults) {
	checkTags(reflect.ValueOf(c).Elem(), "", f)
	c.NATS.validate(f)
	c.Storage.validate(f)
	c.Source.validate(f)
	c.validateConsumers(f)
	c.validateSinks(f)
	if c.Memory < MinMemory {
		f.add("memory", "must be at least %s", MinMemory)
	}
	if c.Role == RoleApply && c.NATS.URL == "" {
		f.add("role", "is apply, and so nats.url must name the server on which another process publishes")
	}
	if c.Role == RoleApply && len(c.Sinks) == 0 {
		f.add("role", "is apply, and there are no sinks")
	}
	if c.DataDir == "" {
		f.add("data_dir", "is required")
	}
}

// checkTags checks what the tags of the structs say: required, enum, min and max. Secrets and URLs have checks of their own.
func checkTags(v reflect.Value, path string, f *faults) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			checkTags(v.Elem(), path, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkTags(v.Index(i), index(path, i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			p := join(path, field.Tag.Get("yaml"))
			checkTag(field.Tag, v.Field(i), p, f)
			checkTags(v.Field(i), p, f)
		}
	}
}

func checkTag(tag reflect.StructTag, v reflect.Value, path string, f *faults) {
	if tag.Get("required") != "" && v.Kind() != reflect.Struct && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
		f.add(path, required)
	}
	if choices := tag.Get("enum"); choices != "" && !slices.Contains(strings.Split(choices, ","), v.String()) {
		f.add(path, "must be one of %s", strings.ReplaceAll(choices, ",", ", "))
	}
	if tag.Get("min") == "" {
		return
	}
	low, _ := strconv.ParseInt(tag.Get("min"), 10, 64)
	high, _ := strconv.ParseInt(tag.Get("max"), 10, 64)
	if n := v.Int(); n < low || n > high {
		f.add(path, "must be from %d to %d", low, high)
	}
}

func (c *Config) validateConsumers(f *faults) {
	seen := map[string]int{}
	for i, s := range c.Consumers {
		path := index("consumers", i)
		checkName(s.Name, path+".name", f)
		if first, ok := seen[s.Name]; ok && s.Name != "" {
			f.add(path+".name", "is already the name of consumers[%d]", first)
		} else {
			seen[s.Name] = i
		}
		validateValueColumns(s.ValueColumns, path+".value_columns", f)
		s.Columns.validate(path+".columns", f)
	}
}

func validateValueColumns(names []string, path string, f *faults) {
	for i, name := range names {
		p := index(path, i)
		checkName(name, p, f)
		switch {
		case strings.Contains(name, "."):
			f.add(p, "holds a dot, which separates the names of a path")
		case name != "" && slices.Index(names, name) < i:
			f.add(p, "is named twice: %q", name)
		}
	}
}

func (c Columns) validate(path string, f *faults) {
	seen := map[string]bool{}
	for _, col := range c {
		p := join(path, col.Name)
		if col.Name == "" {
			f.add(path, "holds a column without a name")
			continue
		}
		if seen[col.Name] {
			f.add(p, "is named twice")
		}
		seen[col.Name] = true
		if col.Path == "" {
			f.add(p, "needs a path, such as key or value.name")
		}
		if col.Type != "" && col.Type != Text {
			f.add(p+".type", "can only be %s; without it the column has the type of the value", Text)
		}
		if why := badName(col.Name); why != "" {
			f.add(p, "%s", why)
		}
	}
}

// maxName is what Postgres keeps of an identifier; it cuts a longer one in silence.
const maxName = 63

func checkName(name, path string, f *faults) {
	if why := badName(name); why != "" {
		f.add(path, "%s", why)
	}
}

func badName(name string) string {
	switch {
	case name == "":
		return "is required"
	case len(name) > maxName:
		return fmt.Sprintf("is %d bytes long; names are cut by databases past %d", len(name), maxName)
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "holds a control character"
	case strings.ContainsAny(name, "{}"):
		return "holds a brace, which stands for a column in key templates"
	}
	return ""
}
