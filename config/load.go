package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxSize bounds what is read of any file named here; a config is a few kilobytes.
const maxSize = 1 << 20

// Load reads the file at path ("" for none, "-" for standard input), then lays the environment and the overrides (path to text, as flags
// give them: "log.level" to "debug") over it. Its error joins a *FieldError for each fault. A file that cannot be read is a plain error.
func Load(path string, environ func(string) (string, bool), overrides map[string]string) (*Config, error) {
	var text []byte
	if path != "" {
		var err error
		if text, err = readFile(path); err != nil {
			return nil, err
		}
	}
	c, err := Parse(text, environ, overrides)
	if err != nil && path != "" {
		return nil, fmt.Errorf("%s:\n%w", path, err)
	}
	return c, err
}

// Parse is Load for text at hand.
func Parse(text []byte, environ func(string) (string, bool), overrides map[string]string) (*Config, error) {
	c := new(Config)
	f := &faults{lines: map[string]int{}}
	setDefaults(reflect.ValueOf(c).Elem())
	if root := parse(text, f); root != nil {
		b := binder{environ: environ, faults: f, anchors: anchorsOf(root)}
		b.bind("", root, reflect.ValueOf(c).Elem())
	}
	if len(f.list) == 1 && f.list[0].Path == "" { // no YAML at all: what it lacks is no news
		return nil, f.err()
	}
	overlay(settings(reflect.ValueOf(c).Elem(), ""), environ, overrides, f)
	readSecrets(c, f)
	c.validate(f)
	if err := f.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// LoadStorage gives the member storage alone, for commands without a file: from the environment and the overrides.
func LoadStorage(environ func(string) (string, bool), overrides map[string]string) (*Storage, error) {
	s := new(Storage)
	f := &faults{lines: map[string]int{}}
	v := reflect.ValueOf(s).Elem()
	setDefaults(v)
	overlay(settings(v, "storage"), environ, overrides, f)
	checkTags(v, "storage", f)
	s.validate(f)
	if err := f.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func readFile(path string) ([]byte, error) {
	if path == "-" {
		return readAll(os.Stdin, "standard input")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, path)
}

func readAll(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(b) > maxSize {
		err = fmt.Errorf("%s: is larger than %d bytes", name, maxSize)
	}
	return b, err
}

// parse gives the root node, or nil for an empty file or (with a fault) for one that is not YAML.
func parse(text []byte, f *faults) ast.Node {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		// The library's own text quotes the source, and a source may hold a password.
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			f.at("", syntax.GetToken().Position.Line, "is not YAML: %s", syntax.GetMessage())
		} else {
			f.add("", "is not YAML")
		}
		return nil
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil || d.Body.Type() == ast.CommentType })
	switch len(docs) {
	case 0:
		return nil
	case 1:
		return docs[0].Body
	}
	f.add("", "holds %d YAML documents, one is read", len(docs))
	return nil
}

// overlay sets what the environment and the overrides name.
func overlay(all []Setting, environ Environ, overrides map[string]string, f *faults) {
	given := map[string]string{} // path to where it is from
	for _, s := range all {
		text, from, ok := outside(s, environ, overrides)
		if !ok {
			continue
		}
		given[s.Path] = from
		f.forget(s.Path)
		if err := setText(s.value, text); err != nil {
			f.at(s.Path, 0, "%v%s", err, from)
		}
	}
	for _, s := range all { // a URL from outside also outweighs a url_file inside, and the other way round
		if _, ok := given[sibling(s.Path)]; ok && !has(given, s.Path) && s.value.Kind() == reflect.String {
			s.value.SetString("")
		}
	}
	for _, path := range slices.Sorted(maps.Keys(overrides)) {
		if !slices.ContainsFunc(all, func(s Setting) bool { return s.Path == path }) {
			f.at(path, 0, "is no setting that can be given outside the file")
		}
	}
}

func outside(s Setting, environ Environ, overrides map[string]string) (text, from string, ok bool) {
	if text, ok = overrides[s.Path]; ok {
		return text, "", true
	}
	// An empty variable is as good as none: units and compose files pass on what is unset that way.
	text, _ = environ(s.Env)
	return text, " (from " + s.Env + ")", text != ""
}

// sibling of "nats.url" is "nats.url_file", and the other way round.
func sibling(path string) string {
	if p, ok := strings.CutSuffix(path, "_file"); ok {
		return p
	}
	return path + "_file"
}

func has(m map[string]string, k string) bool { _, ok := m[k]; return ok }

// readSecrets fills members that have a sibling …_file.
func readSecrets(c *Config, f *faults) {
	readSecret(&c.NATS.URL, c.NATS.URLFile, "nats.url", f)
	readSecret(&c.NATS.Password, c.NATS.PasswordFile, "nats.password", f)
	for i, s := range c.Sinks {
		if s.Postgres != nil {
			readSecret(&s.Postgres.URL, s.Postgres.URLFile, index("sinks", i)+".postgres.url", f)
		}
		if s.Redis != nil {
			readSecret(&s.Redis.URL, s.Redis.URLFile, index("sinks", i)+".redis.url", f)
		}
	}
}

func readSecret(value *Secret, file, path string, f *faults) {
	if file == "" {
		return
	}
	if *value != "" {
		f.add(path, "is given twice, here and by %s", sibling(path))
		return
	}
	b, err := readFile(file)
	text := strings.TrimRight(string(b), "\r\n")
	switch {
	case err != nil:
		f.add(sibling(path), "%v", err)
	case text == "":
		f.add(sibling(path), "%s is empty", file)
	}
	*value = Secret(text)
}
