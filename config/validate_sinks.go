package config

import (
	"slices"
	"strings"
)

func (c *Config) validateSinks(f *faults) {
	names, tables := map[string]int{}, map[string]string{}
	for i := range c.Sinks {
		s, path := &c.Sinks[i], index("sinks", i)
		checkName(s.Name, path+".name", f)
		if first, ok := names[s.Name]; ok && s.Name != "" {
			f.add(path+".name", "is already the name of sinks[%d]", first)
		} else {
			names[s.Name] = i
		}
		c.validateMirrored(s, path, f)
		s.validateTarget(path, f)
		for j, name := range s.Consumers {
			key := s.table(name)
			if first, ok := tables[key]; ok && key != "" && !within(first, path) {
				f.add(index(path+".consumers", j), "is mirrored to the same place by %s", first)
			} else {
				tables[key] = index(path+".consumers", j)
			}
		}
	}
	c.validateKeyspaces(f)
	c.validateAtomic(f)
}

// validateMirrored checks a sink's list of consumers.
func (c *Config) validateMirrored(s *Sink, path string, f *faults) {
	for j, name := range s.Consumers {
		p := index(path+".consumers", j)
		switch {
		case f.unread("consumers"): // it has no names
		case !slices.ContainsFunc(c.Consumers, func(d Consumer) bool { return d.Name == name }):
			f.add(p, "names no consumer: %q", name)
		case slices.Index(s.Consumers, name) < j:
			f.add(p, "is listed twice: %q", name)
		}
	}
	if s.Redis != nil {
		c.validateKey(s, path+".redis.key", f)
	}
}

func (s *Sink) validateTarget(path string, f *faults) {
	targets := 0
	if s.Postgres != nil {
		targets++
		s.Postgres.validate(path+".postgres", f)
	}
	if s.Redis != nil {
		targets++
		s.Redis.validate(path+".redis", f)
	}
	if s.SQLite != nil {
		targets++
		s.validateFoldedNames(path, f)
	}
	if targets != 1 {
		f.add(path, "needs exactly one of postgres, redis, sqlite; it has %d", targets)
	}
}

// table names the place of a consumer's rows and progress; "" where there is none.
func (s *Sink) table(consumer string) string {
	switch {
	case s.Postgres != nil && s.Postgres.URL != "":
		return strings.Join([]string{"postgres", s.Postgres.URL.Reveal(), s.Postgres.Schema, consumer}, "\x00")
	case s.Redis != nil && s.Redis.URL != "": // whatever the keys of the rows, the progress has one key
		return strings.Join([]string{"redis", s.Redis.URL.Reveal(), consumer}, "\x00")
	case s.SQLite != nil && s.SQLite.Path != "":
		return strings.Join([]string{"sqlite", s.SQLite.Path, strings.ToLower(consumer)}, "\x00")
	}
	return ""
}

func (p *Postgres) validate(path string, f *faults) {
	checkServer(p.URL, p.URLFile, path+".url", f, "postgres", "postgresql")
	checkName(p.Schema, path+".schema", f)
}

func (r *Redis) validate(path string, f *faults) {
	checkServer(r.URL, r.URLFile, path+".url", f, "redis", "rediss", "unix")
	if r.Grace < 0 {
		f.add(path+".grace", "must not be below zero")
	}
	r.TLS.validate(path+".tls", f)
	if r.TLS != (TLS{}) && r.URL != "" && !strings.HasPrefix(r.URL.Reveal(), "rediss:") {
		f.add(path+".tls", "needs a rediss:// address")
	}
}

func checkServer(u Secret, file, path string, f *faults, schemes ...string) {
	switch {
	case u != "":
		checkURL(u.Reveal(), path, f, schemes...)
	case file == "":
		f.add(path, "is required")
	}
}

// validateFoldedNames: SQLite takes Orders and orders for the same table.
func (s *Sink) validateFoldedNames(path string, f *faults) {
	for j, name := range s.Consumers {
		if slices.ContainsFunc(s.Consumers[:j], func(o string) bool { return o != name && strings.EqualFold(o, name) }) {
			f.add(index(path+".consumers", j), "differs from another only in case, which SQLite ignores: %q", name)
		}
	}
}
