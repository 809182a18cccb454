package config

import "slices"

// atomicSource is the choice of a Sink's Atomic that lets its tables change together.
const atomicSource = "source"

// Groups parts the consumers into those that have to be published together, because a sink joins them; each of the others is alone. The order is that of
// the file.
func (c *Config) Groups() (groups [][]Consumer) {
	leader := map[string]string{} // by consumer: the first one of its group
	for _, d := range c.Consumers {
		leader[d.Name] = d.Name
	}
	for _, s := range c.Sinks {
		if s.Joins() && len(s.Consumers) > 0 {
			unite(leader, s.Consumers)
		}
	}
	at := map[string]int{}
	for _, d := range c.Consumers {
		first := leader[d.Name]
		if _, ok := at[first]; !ok {
			at[first] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[first]] = append(groups[at[first]], d)
	}
	return groups
}

// unite makes one group of the groups of some consumers.
func unite(leader map[string]string, names []string) {
	for _, name := range names {
		from, to := leader[name], leader[names[0]]
		for n, l := range leader {
			if l == from {
				leader[n] = to
			}
		}
	}
}

// Joins says whether a sink changes tables together.
func (s *Sink) Joins() bool { return s.Atomic == atomicSource }

// validateAtomic refuses what can't be kept.
func (c *Config) validateAtomic(f *faults) {
	for i := range c.Sinks {
		s, path := &c.Sinks[i], index("sinks", i)+".atomic"
		if !s.Joins() {
			continue
		}
		if s.Redis != nil {
			f.add(path, "source is for postgres and sqlite; Redis has no transaction that spans all rows of an epoch")
		}
		first := slices.IndexFunc(c.Sinks[:i], func(o Sink) bool { return o.Joins() && o.database() != "" && o.database() == s.database() })
		if first >= 0 {
			f.add(path, "joins the tables of one sink, and %s writes to the same database; list its consumers here, or leave one of the two at table", index("sinks", first))
		}
	}
}

// database names what a transaction of the sink can span; "" where there is none.
func (s *Sink) database() string {
	switch {
	case s.Postgres != nil:
		return s.Postgres.URL.Reveal()
	case s.SQLite != nil:
		return s.SQLite.Path
	}
	return ""
}
