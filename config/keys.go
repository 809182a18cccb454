package config

import (
	"slices"
	"strings"
)

// validateKey checks a key template: its braces, its columns where they are known, and that no two consumers share it.
func (c *Config) validateKey(s *Sink, path string, f *faults) {
	if s.Redis.Key == "" {
		return
	}
	columns, ok := templateColumns(s.Redis.Key)
	switch {
	case !ok:
		f.add(path, "has a brace without its other one, or nothing between two")
		return
	case len(columns) == 0:
		f.add(path, "names no column in braces, so that all rows would have one key")
		return
	case len(s.Consumers) > 1:
		f.add(path, "would give rows of several consumers one key; leave it empty, or give each consumer a sink of its own")
	}
	for _, consumer := range c.Consumers {
		if !slices.Contains(s.Consumers, consumer.Name) || len(consumer.Columns) == 0 {
			continue
		}
		for _, name := range columns {
			if !slices.ContainsFunc(consumer.Columns, func(col Column) bool { return col.Name == name }) {
				f.add(path, "names the column %q, which consumer %q does not have", name, consumer.Name)
			}
		}
	}
}

// templateColumns gives the names in braces of a key template.
func templateColumns(template string) ([]string, bool) {
	var names []string
	for template != "" {
		i := strings.IndexAny(template, "{}")
		if i < 0 {
			break
		}
		end := strings.IndexAny(template[i+1:], "{}")
		if template[i] == '}' || end <= 0 || template[i+1+end] == '{' {
			return nil, false
		}
		names = append(names, template[i+1:i+1+end])
		template = template[i+1+end+1:]
	}
	return names, true
}

// keyspace is what a consumer's keys in Redis begin with. All keys with that beginning are the consumer's: a full epoch deletes those
// that it does not hold.
type keyspace struct{ url, prefix, path string }

func (c *Config) validateKeyspaces(f *faults) {
	var all []keyspace
	for i, s := range c.Sinks {
		if s.Redis == nil || s.Redis.URL == "" || s.Redis.Key != "" && len(s.Consumers) > 1 {
			continue
		}
		for j, name := range s.Consumers {
			k := keyspace{s.Redis.URL.Reveal(), name + ":", index(index("sinks", i)+".consumers", j)}
			if s.Redis.Key != "" {
				k.prefix, _, _ = strings.Cut(s.Redis.Key, "{")
				k.path = index("sinks", i) + ".redis.key"
			}
			k.validate(all, f)
			all = append(all, k)
		}
	}
}

// progressKeys begin the keys that hold the progress of sinks.
const progressKeys = "statebridge:"

func (k keyspace) validate(others []keyspace, f *faults) {
	if k.prefix == "" || overlap(k.prefix, progressKeys) {
		f.add(k.path, "must make keys that begin with a text of their own, and not with %s", progressKeys)
		return
	}
	for _, o := range others {
		if o.url == k.url && overlap(o.prefix, k.prefix) {
			f.add(k.path, "makes keys that begin with %q, as do those by %s; each would delete the other's", k.prefix, o.path)
			return
		}
	}
}

// overlap reports whether one text begins with the other.
func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
