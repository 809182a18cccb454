package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

const staging = "pg_temp.statebridge_staging"

// statements are those of one epoch. Staging names its columns c0, c1, …, so that none can clash with n and gone.
type statements struct {
	stage, copyStaged, copyDirect, analyze string
	deleteGone, upsertNet                  string // what changed
	deleteOthers, upsertAll                string // of a full epoch

	// For an epoch that is applied with care. Its staging has the changes, too.
	stageCareful                   string
	keepNet, indexStaged, countNet string
	upsertSome, change, deleteOne  string // by n

	// merges says that PostgreSQL holds values of a key column for equal that the state tells apart: 1.0 and 1.00, 0.0 and -0.0.
	merges bool
}

func write(table string, columns []encoder, gone []string) (s statements) {
	var stage, names, same, order []string
	var all []stream.Column
	for i, c := range columns {
		name := fmt.Sprintf("c%d", i)
		all, names = append(all, c.Column), append(names, name)
		stage = append(stage, sqltable.Quote(c.Column.Name)+" AS "+name)
		if c.Key {
			same = append(same, "s."+name+" = t."+sqltable.Quote(c.Column.Name))
			order = append(order, name+bytewise(c.kind))
			s.merges = s.merges || slices.Contains([]string{"numeric", "real", "double precision", "jsonb"}, c.kind)
		}
	}
	list, key, match := strings.Join(names, ", "), strings.Join(order, ", "), strings.Join(same, " AND ")
	last := ", n DESC"
	if s.merges { // a row that went and one that came may be equal here, in any order
		last = ", gone, n DESC"
	}
	net := "SELECT DISTINCT ON (" + key + ") * FROM " + staging + " ORDER BY " + key + last

	s.stage = "CREATE TEMPORARY TABLE statebridge_staging ON COMMIT DROP AS SELECT " + strings.Join(stage, ", ") + ", 0::bigint AS n, false AS gone FROM " + table + " LIMIT 0"
	s.copyStaged = "COPY " + staging + " FROM STDIN (ENCODING 'UTF8')"
	s.copyDirect = "COPY " + table + " (" + sqltable.List("", all) + ") FROM STDIN (ENCODING 'UTF8')"
	s.analyze = "ANALYZE " + staging
	s.deleteGone = "DELETE FROM " + table + " t USING (" + net + ") s WHERE s.gone AND " + match
	s.deleteOthers = "DELETE FROM " + table + " t WHERE NOT EXISTS (SELECT 1 FROM " + staging + " s WHERE " + match + ")"
	s.upsertNet = sqltable.Insert(table, all) + "SELECT " + list + " FROM (" + net + ") s WHERE NOT gone" + sqltable.OnConflict(all, gone)
	s.upsertAll = sqltable.Insert(table, all) + "SELECT " + list + " FROM " + staging + " ORDER BY " + key + sqltable.OnConflict(all, gone)

	s.stageCareful = strings.Replace(s.stage, " FROM ", ", 0 AS part, 0::bigint AS seq, ''::text AS op, ''::text AS k, ''::text AS r FROM ", 1)
	s.keepNet = "DELETE FROM " + staging + " s WHERE NOT EXISTS (SELECT 1 FROM (" + net + ") k WHERE k.n = s.n)"
	s.indexStaged = "CREATE INDEX ON " + staging + " (n)"
	s.countNet = "SELECT count(*) FROM " + staging + " WHERE NOT gone"
	s.upsertSome = sqltable.Insert(table, all) + "SELECT " + list + " FROM " + staging + " WHERE NOT gone AND n >= $1 AND n < $2 ORDER BY " + key + sqltable.OnConflict(all, gone)
	s.change = "SELECT part, seq, op, k, r FROM " + staging + " WHERE n = $1"
	s.deleteOne = "DELETE FROM " + table + " t USING " + staging + " s WHERE s.n = $1 AND " + match
	return s
}

// bytewise sorts text by its bytes, several times faster than by a language's rules.
func bytewise(kind string) string {
	if kind == "text" || kind == "character varying" {
		return ` COLLATE "C"`
	}
	return ""
}

// columnName translates a name of staging.
func (x *transaction) columnName(name string) string {
	var i int
	if _, err := fmt.Sscanf(name, "c%d", &i); err == nil && !x.direct && i >= 0 && i < len(x.encoders) {
		return x.encoders[i].Column.Name
	}
	return name
}
