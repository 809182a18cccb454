package state

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/statebridge/statebridge/state/javaio"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A fixture line is the head of a stream, or an entry of one of its states; see testdata/README.md.
type fixtureLine struct {
	Meta  []byte // head of a keyed stream
	Kryo5 bool
	Max   int // max parallelism

	State      string
	Key, Value []byte
}

// eachStream calls f for every stream of a fixture.
func eachStream(t testing.TB, name string, f func(head fixtureLine, entries []fixtureLine)) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var head fixtureLine
	var entries []fixtureLine
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l fixtureLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Meta == nil {
			entries = append(entries, l)
			continue
		}
		if head.Meta != nil {
			f(head, entries)
		}
		head, entries = l, nil
	}
	f(head, entries)
}

func (l fixtureLine) keyedMeta(t testing.TB) *KeyedMeta {
	t.Helper()
	r := javaio.NewReader("fixture", 0, l.Meta)
	m := ReadKeyedMeta(r, Options{Kryo5: l.Kryo5})
	r.End()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.States {
		s.MaxParallelism = l.Max
	}
	return m
}

func (m *KeyedMeta) state(name string) *Schema {
	for _, s := range m.States {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// golden compares text with testdata/name.golden; -update rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d:\n got %s\nwant %s", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d", path, len(g), len(w))
}

var fixtures = []string{
	"customers-1.20", "compression-2.3", "serializers-1.20", "serializers-2.3", "windows-1.20", "ttl-2.3", "evolution-1.20", "maxpar720-2.3",
	"sql-agg-append-1.20", "sql-agg-retract-2.3", "sql-join-left-2.3", "sql-session-2.3", "sql-topn-2.3",
}

// TestRealStreams reads streams that Flink wrote: each schema and each row is what the golden file has.
func TestRealStreams(t *testing.T) {
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			eachStream(t, name, func(head fixtureLine, entries []fixtureLine) {
				m := head.keyedMeta(t)
				for _, s := range m.States {
					fmt.Fprintln(&out, describe(s))
				}
				var row Row
				for _, e := range entries {
					writeRow(t, &out, m.state(e.State), &row, e)
				}
			})
			golden(t, name, out.String())
		})
	}
}

func describe(s *Schema) string {
	d := fmt.Sprintf("%s %s: key %s", s.Kind, s.Name, s.Key.Type())
	if !s.void() {
		d += ", namespace " + s.Namespace.Type().String()
	}
	if s.MapKey != nil {
		d += ", map key " + s.MapKey.Type().String()
	}
	if s.Value != nil {
		d += ", value " + s.Value.Type().String()
	}
	if s.TTL {
		d += ", TTL"
	}
	return d
}

func writeRow(t *testing.T, out *bytes.Buffer, s *Schema, row *Row, e fixtureLine) {
	t.Helper()
	if err := s.DecodeKey(row, e.Key); err != nil {
		t.Fatal(err)
	}
	if err := s.DecodeValue(row, e.Value); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "  %s group=%d key=%s", s.Name, row.KeyGroup, row.Key)
	for i, v := range [][]byte{row.Namespace, row.MapKey, row.Value} {
		if v != nil {
			fmt.Fprintf(out, " %s=%s", []string{"namespace", "map_key", "value"}[i], v)
		}
		if v != nil && !json.Valid(v) {
			t.Errorf("%s: not JSON: %s", s.Name, v)
		}
	}
	if row.HasTTL {
		fmt.Fprintf(out, " ttl=%d", row.TTL)
	}
	out.WriteByte('\n')
}

// TestKeysComeBack encodes each key of the fixtures from its JSON: the composite key is the same again, and the key group is
// that of its hashCode.
func TestKeysComeBack(t *testing.T) {
	for _, name := range fixtures {
		eachStream(t, name, func(head fixtureLine, entries []fixtureLine) {
			m := head.keyedMeta(t)
			var row Row
			for _, e := range entries {
				s := m.state(e.State)
				if s.Kind == KindTimer {
					continue
				}
				if err := s.DecodeKey(&row, e.Key); err != nil {
					t.Fatal(err)
				}
				k, n, mk, err := s.EncodeKey(row.Key, row.Namespace, row.MapKey)
				if err != nil {
					t.Errorf("%s: %s: %v", name, s.Name, err)
					continue
				}
				if got := s.AppendKey(nil, row.KeyGroup, k, n, mk); !bytes.Equal(got, e.Key) {
					t.Errorf("%s: %s: key %s: %x, want %x", name, s.Name, row.Key, got, e.Key)
				}
				if g, ok := s.KeyGroup(row.Key); ok && g != row.KeyGroup {
					t.Errorf("%s: %s: key %s: group %d, want %d", name, s.Name, row.Key, g, row.KeyGroup)
				}
			}
		})
	}
}

// TestConcurrentUse decodes and projects the same rows in several goroutines: schemas and projections are shared.
func TestConcurrentUse(t *testing.T) {
	eachStream(t, "customers-1.20", func(head fixtureLine, entries []fixtureLine) {
		m := head.keyedMeta(t)
		var wg sync.WaitGroup
		rows := make([][]string, 4)
		projections := map[string]*Projection{}
		for _, s := range m.States {
			projections[s.Name] = NewProjection(DefaultColumns(s))
		}
		for g := range rows {
			wg.Go(func() {
				var row Row
				for _, e := range entries {
					s := m.state(e.State)
					if err := errors.Join(s.DecodeKey(&row, e.Key), s.DecodeValue(&row, e.Value)); err != nil {
						t.Error(err)
					}
					b, err := projections[s.Name].AppendRow(nil, &row)
					if err != nil {
						t.Error(err)
					}
					rows[g] = append(rows[g], string(b))
				}
			})
		}
		wg.Wait()
		for _, r := range rows[1:] {
			if !slices.Equal(r, rows[0]) {
				t.Error("goroutines read different rows")
			}
		}
	})
}
