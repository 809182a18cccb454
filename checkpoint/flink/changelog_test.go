package flink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

const maxParallelism = 128

// The states of hand-made logs; keys are strings, namespaces too but for the map's and the timers'.
var (
	timerState = fixture.State{Name: "_timer_state/event_t", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)}
	valueState = fixture.State{Name: "v", Kind: "VALUE", Namespace: fixture.VoidNamespace, Value: fixture.Long}
	listState  = fixture.State{Name: "l", Kind: "LIST", Namespace: fixture.String, Value: fixture.List(fixture.String)}
	mapState   = fixture.State{Name: "m", Kind: "MAP", Namespace: fixture.VoidNamespace, Value: fixture.Map(fixture.String, fixture.String)}
	reducing   = fixture.State{Name: "r", Kind: "REDUCING", Namespace: fixture.String, Value: fixture.Long}
)

// groupOf is the key group of a string of ASCII characters.
func groupOf(key string) int {
	var h int32
	for _, c := range []byte(key) {
		h = 31*h + int32(c)
	}
	return state.KeyGroup(h, maxParallelism)
}

func fstr(s string) fixture.Bytes { return fixture.Bytes{}.Text(s) }

func num(n int64) fixture.Bytes { return fixture.Bytes{}.I64(n) }

func n32(n int) fixture.Bytes { return fixture.Bytes{}.I32(n) }

var void = fixture.Bytes{0}

// sample logs every operation of every kind.
func sample() *fixture.Log {
	var l fixture.Log
	l.Meta(7, timerState)
	l.Meta(0, valueState)
	l.Meta(1, listState)
	l.Meta(-2, mapState)
	l.Meta(3, reducing)
	g := groupOf("k")
	l.Add(g, 0, fixture.OpSet, fstr("k"), void, num(5))
	l.Add(g, 0, fixture.OpClear, fstr("k"), void)
	l.Add(g, 1, fixture.OpSet, fstr("k"), fstr("n"), n32(2), fstr("a"), fstr(","))
	l.Add(g, 1, fixture.OpSetInternal, fstr("k"), fstr("n"), n32(1), fstr("b"))
	l.Add(g, 1, fixture.OpSet, fstr("k"), fstr("n"), n32(0))
	l.Add(g, 1, fixture.OpAdd, fstr("k"), fstr("n"), n32(2), fstr("c"), fstr("d"))
	l.Add(g, 1, fixture.OpAdd, fstr("k"), fstr("n"), n32(0))
	l.Add(g, 1, fixture.OpAddElement, fstr("k"), fstr("n"), fstr("e"))
	l.Add(g, 1, fixture.OpMergeNamespaces, fstr("k"), fstr("n"), fstr("n"), n32(2), fstr("o"), fstr("p"))
	l.Add(g, 1, fixture.OpClear, fstr("k"), fstr("n"))
	l.Add(g, -2, fixture.OpAdd, fstr("k"), void, n32(2), fstr("x"), fixture.Bytes{0}, fstr("1"), fstr("y"), fixture.Bytes{1})
	l.Add(g, -2, fixture.OpAdd, fstr("k"), void, n32(1), fstr("z"), fixture.Bytes{0}, fstr("2"))
	l.Add(g, -2, fixture.OpAddElement, fstr("k"), void, fstr("x"), fstr("3"))
	l.Add(g, -2, fixture.OpAddOrUpdateElement, fstr("k"), void, fstr("x"), fstr("4"))
	l.Add(g, -2, fixture.OpRemoveElement, fstr("k"), void, fstr("x"))
	l.Add(g, -2, fixture.OpClear, fstr("k"), void)
	l.Add(g, 3, fixture.OpSet, fstr("k"), fstr("n"), num(6))
	l.Add(g, 3, fixture.OpSetInternal, fstr("k"), fstr("n"), num(7))
	l.Add(g, 3, fixture.OpMergeNamespaces, fstr("k"), fstr("n"), fstr("n"), n32(1), fstr("o"))
	l.Add(g, 3, fixture.OpClear, fstr("k"), fstr("n"))
	l.Add(g, 7, fixture.OpAddElement, n32(2), num(9), fstr("k"), void, num(10), fstr("k"), void)
	l.Add((g+1)%maxParallelism, 7, fixture.OpRemoveElement, num(9), fstr("k"), void) // the operator was at another key
	return &l
}

const sampleChanges = `_timer_state/event_t: Put g0000000000000009^bk^a=
_timer_state/event_t: Put g000000000000000A^bk^a=
_timer_state/event_t: Remove g0000000000000009^bk^a=
v: Put g^bk^a=0000000000000005
v: Remove g^bk^a=
l: Put g^bk^b^bn^b=^ba,^b,
l: Put g^bk^b^bn^b=^bb
l: Remove g^bk^b^bn^b=
l: AppendList g^bk^b^bn^b=^bc,^bd
l: AppendList g^bk^b^bn^b=^be
l: Merge g^bk^b= g^bk^b^bn^b<g^bk^b^bo^b<g^bk^b^bp^b
l: Remove g^bk^b^bn^b=
m: Put g^bk^a^bx=^a^b1
m: Put g^bk^a^by=^A
m: Put g^bk^a^bz=^a^b2
m: Put g^bk^a^bx=^a^b3
m: Put g^bk^a^bx=^a^b4
m: Remove g^bk^a^bx=
m: RemoveAll g^bk^a=
r: Put g^bk^b^bn^b=0000000000000006
r: Put g^bk^b^bn^b=0000000000000007
r: Merge g^bk^b= g^bk^b^bn^b<g^bk^b^bo^b
r: Remove g^bk^b^bn^b=
`

// plainText prints bytes so that they can be read: the key group of "k" is g, a zero ^a, a one ^A, a two ^b, and a number of eight bytes its hex.
func plainText(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		if len(b) >= 8 && b[0] == 0 && b[1] == 0 {
			fmt.Fprintf(&out, "%X", b[:8])
			b = b[8:]
			continue
		}
		switch c := b[0]; {
		case c == byte(groupOf("k")):
			out.WriteByte('g')
		case c == 0:
			out.WriteString("^a")
		case c == 1:
			out.WriteString("^A")
		case c == 2:
			out.WriteString("^b")
		default:
			out.WriteByte(c)
		}
		b = b[1:]
	}
	return out.String()
}

func (c ChangeOp) String() string {
	return [...]string{Put: "Put", AppendList: "AppendList", Remove: "Remove", RemoveAll: "RemoveAll", Merge: "Merge"}[c]
}

// dumpChanges prints every change of every state.
func dumpChanges(l *Changelog, groups KeyGroupRange) (string, error) {
	var out strings.Builder
	for id, s := range l.States() {
		for c, err := range l.Changes(context.Background(), id, groups) {
			if err != nil {
				return out.String(), err
			}
			fmt.Fprintf(&out, "%s: %s %s=%s", s.Name, c.Op, plainText(c.Key), plainText(c.Value))
			for i, k := range append([][]byte{c.Target}, c.Sources...) {
				if c.Op == Merge {
					out.WriteString([]string{" ", "<"}[min(i, 1)] + plainText(k))
				}
			}
			out.WriteByte('\n')
		}
	}
	return out.String(), nil
}

var allGroups = KeyGroupRange{0, maxParallelism - 1}

// bytesHandle puts a log into the metadata.
func bytesHandle(l *fixture.Log) *ChangelogBytesHandle {
	h := &ChangelogBytesHandle{Range: allGroups}
	for _, c := range l.Changes {
		h.Changes = append(h.Changes, ChangelogEntry(c))
	}
	return h
}

// filesHandle puts change sets into one file, with bytes of others between them.
func filesHandle(t testing.TB, compress bool, sets ...[]byte) *ChangelogFilesHandle {
	t.Helper()
	h := &ChangelogFilesHandle{Range: allGroups, Storage: "filesystem"}
	file := filepath.Join(t.TempDir(), "changes")
	var raw []byte
	for _, s := range sets {
		raw = append(raw, "another task's"...)
		h.Files = append(h.Files, ChangelogFile{Offset: int64(len(raw))})
		raw = append(raw, s...)
	}
	stored := append([]byte{0}, raw...)
	if compress {
		var b bytes.Buffer
		b.WriteByte(1)
		w := snappy.NewBufferedWriter(&b)
		if _, err := w.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		stored = b.Bytes()
	}
	if err := os.WriteFile(file, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range h.Files {
		h.Files[i].Stream = &StreamHandle{Kind: AbsoluteFile, Path: file, Size: int64(len(raw))}
	}
	return h
}

func openLog(deltas ...KeyedHandle) (*Changelog, error) {
	h := &ChangelogHandle{Range: allGroups, Deltas: deltas}
	return OpenChangelog(context.Background(), h, NewResolver(storage.Local(), "/nowhere", nil).OpenFile, state.Options{}, maxParallelism)
}

func TestChangesOfEveryOperation(t *testing.T) {
	for name, h := range map[string]KeyedHandle{
		"metadata": bytesHandle(sample()), "file": filesHandle(t, false, sample().Set()), "compressed": filesHandle(t, true, sample().Set()),
	} {
		l, err := openLog(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dumpChanges(l, allGroups)
		if err != nil {
			t.Fatal(err)
		}
		if got != sampleChanges {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestSetsStandInTheOrderOfTheHandle, wherever they lie, and numbers of states may be given anew.
func TestSetsStandInTheOrderOfTheHandle(t *testing.T) {
	g := groupOf("k")
	var first, second, third fixture.Log
	first.Meta(0, timerState)
	first.Meta(1, valueState)
	first.Add(g, 1, fixture.OpSet, fstr("k"), void, num(1))
	second.Meta(1, timerState)
	second.Meta(0, valueState)
	second.Add(g, 0, fixture.OpSet, fstr("k"), void, num(2))
	third.Add(g, 0, fixture.OpSet, fstr("k"), void, num(3))
	for _, compress := range []bool{false, true} {
		a, b := filesHandle(t, compress, second.Set(), first.Set()), filesHandle(t, compress, third.Set())
		a.Files[0], a.Files[1] = a.Files[1], a.Files[0]
		l, err := openLog(a, b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dumpChanges(l, allGroups)
		want := "v: Put g^bk^a=0000000000000001\nv: Put g^bk^a=0000000000000002\nv: Put g^bk^a=0000000000000003\n"
		if err != nil || got != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// TestForeignKeyGroupsAreSkipped: a handle that was cut down for another parallelism leaves what others own in its files.
func TestForeignKeyGroupsAreSkipped(t *testing.T) {
	g := groupOf("k")
	for name, c := range map[string]struct{ handle, delta, wanted KeyGroupRange }{
		"handle": {KeyGroupRange{g + 1, 127}, allGroups, allGroups},
		"delta":  {allGroups, KeyGroupRange{0, g - 1}, allGroups},
		"wanted": {allGroups, allGroups, KeyGroupRange{g + 1, 127}},
	} {
		var log fixture.Log
		log.Meta(0, timerState)
		log.Meta(1, valueState)
		log.Add(g, 1, fixture.OpSet, fstr("k"), void, num(1))
		h := bytesHandle(&log)
		h.Range = c.delta
		l, err := openLog(h)
		if err != nil {
			t.Fatal(err)
		}
		l.handle.Range = c.handle
		if got, err := dumpChanges(l, c.wanted); got != "" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestKeyGroupsAreFoundAgain: what one pass has seen of a file leads the next ones to the same changes.
func TestKeyGroupsAreFoundAgain(t *testing.T) {
	var first, second fixture.Log
	first.Meta(0, timerState)
	first.Meta(1, valueState)
	for i := range 300 {
		key := fmt.Sprint("key", i)
		first.Add(groupOf(key), 1, fixture.OpSet, fstr(key), void, num(int64(i)))
		second.Add(groupOf(key), 1, fixture.OpClear, fstr(key), void)
	}
	for _, compress := range []bool{false, true} {
		h := filesHandle(t, compress, first.Set(), second.Set())
		for _, groups := range []KeyGroupRange{allGroups, {3, 3}, {0, 60}, {100, 127}} {
			fresh, err := openLog(h)
			if err != nil {
				t.Fatal(err)
			}
			used, _ := openLog(h)
			if _, err := dumpChanges(used, KeyGroupRange{0, 0}); err != nil {
				t.Fatal(err)
			}
			if known := used.places.find(setID{0, 1}) != nil; known == compress {
				t.Errorf("compressed %t: places are known: %t", compress, known)
			}
			want, err := dumpChanges(fresh, groups)
			if err != nil || want == "" {
				t.Fatal(want, err)
			}
			if got, err := dumpChanges(used, groups); got != want || err != nil {
				t.Errorf("compressed %t, %s: other changes, %v", compress, groups, err)
			}
		}
	}
}

// TestSettingsAreSteppedOver: a TTL is described by a Java object, which has no length.
func TestSettingsAreSteppedOver(t *testing.T) {
	java := fixture.Bytes{0xAC, 0xED, 0, 5, 0x73, 0x72}.UTF("org.apache.flink.api.common.state.StateTtlConfig").I64(1).U8(2).I16(1)
	java = append(java.U8('J').UTF("ttl"), 0x78, 0x70).I64(3600_000)
	for name, settings := range map[string]fixture.Bytes{
		"ttl":     append(append(fixture.Bytes{1}, java...), 0),
		"default": append(fixture.Bytes{0, 1}, num(77)...),
		"both":    append(append(append(fixture.Bytes{1}, java...), 1), num(77)...),
	} {
		s := valueState
		s.Settings = settings
		var log fixture.Log
		log.Meta(0, timerState)
		log.Meta(1, s)
		log.Add(groupOf("k"), 1, fixture.OpSet, fstr("k"), void, num(1))
		l, err := openLog(bytesHandle(&log))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := dumpChanges(l, allGroups); got != "v: Put g^bk^a=0000000000000001\n" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestUnknownKeyIsRefusedByName(t *testing.T) {
	var log fixture.Log
	log.Meta(1, valueState)
	log.Add(groupOf("k"), 1, fixture.OpSet, fstr("k"), void, num(1))
	l, err := openLog(bytesHandle(&log))
	if err != nil {
		t.Fatal(err)
	}
	if k := l.States()[0].Versions[0].Key.Type(); k.Kind != state.Raw || !strings.Contains(k.Why, "materialization") {
		t.Errorf("key %v", k)
	}
	_, err = dumpChanges(l, allGroups)
	if !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), `state "v"`) || !strings.Contains(err.Error(), "materialization") {
		t.Errorf("err = %v", err)
	}
	var timers fixture.Log
	timers.Meta(0, timerState)
	other, err := openLog(bytesHandle(&timers))
	if err != nil {
		t.Fatal(err)
	}
	l.UseKey(other.Key())
	if got, err := dumpChanges(l, allGroups); got == "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLogsThatAreRefused(t *testing.T) {
	g := groupOf("k")
	for name, c := range map[string]struct {
		build func(l *fixture.Log)
		want  error
		text  string
	}{
		"not described": {func(l *fixture.Log) { l.Add(g, 5, fixture.OpSet, fstr("k"), void, num(1)) }, fault.ErrCorrupt, "state 5"},
		"wrong operation": {func(l *fixture.Log) { l.Add(g, 1, fixture.OpAddElement, fstr("k"), void, num(1)) },
			fault.ErrCorrupt, "operation 5 on a state of kind value"},
		"unknown operation": {func(l *fixture.Log) { l.Add(g, 1, 9, fstr("k"), void, num(1)) }, fault.ErrCorrupt, "operation 9"},
		"left over":         {func(l *fixture.Log) { l.Add(g, 1, fixture.OpClear, fstr("k"), void, num(1)) }, fault.ErrCorrupt, "8 bytes left over"},
		"cut key":           {func(l *fixture.Log) { l.Add(g, 1, fixture.OpClear, fstr("k")[:1]) }, fault.ErrCorrupt, "wanted"},
		"other key group": {func(l *fixture.Log) { l.Add(g-1, 1, fixture.OpSet, fstr("k"), void, num(1)) },
			fault.ErrCorrupt, fmt.Sprintf("change of key group %d, its key belongs to %d", g-1, g)},
		"no such key group":  {func(l *fixture.Log) { l.Add(128, 1, fixture.OpSet, fstr("k"), void, num(1)) }, fault.ErrCorrupt, "key group 128"},
		"other kind":         {func(l *fixture.Log) { s := listState; s.Name = "v"; l.Meta(1, s) }, fault.ErrUnsupported, "becomes list and was value"},
		"unknown serializer": {func(l *fixture.Log) { s := valueState; s.Value = fixture.Unreadable; l.Meta(1, s) }, fault.ErrUnsupported, "com.example"},
		"short metadata":     {func(l *fixture.Log) { l.Changes = append(l.Changes, fixture.Change{KeyGroup: -1, Data: []byte{8, 0}}) }, fault.ErrCorrupt, "describe no state"},
	} {
		for _, file := range []bool{false, true} {
			var log fixture.Log
			log.Meta(0, timerState)
			log.Meta(1, valueState)
			c.build(&log)
			var h KeyedHandle = bytesHandle(&log)
			if file {
				h = filesHandle(t, false, log.Set())
			}
			l, err := openLog(h)
			if err == nil {
				_, err = dumpChanges(l, allGroups)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
	}
}

// TestDamagedCompressedLog: any flipped bit and any cut is an error, or changes nothing.
func TestDamagedCompressedLog(t *testing.T) {
	h := filesHandle(t, true, sample().Set())
	whole, err := os.ReadFile(h.Files[0].Stream.Path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) (string, error) {
		h.Files[0].Stream = &StreamHandle{Kind: Bytes, Inline: b}
		l, err := openLog(h)
		if err != nil {
			return "", err
		}
		return dumpChanges(l, allGroups)
	}
	want, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 8*len(whole); i += 5 {
		b := bytes.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		if got, err := read(b); err == nil && got != want {
			t.Fatalf("bit %d of byte %d: other changes", i%8, i/8)
		}
	}
	for n := 0; n < len(whole); n += 3 {
		if _, err := read(whole[:n]); !errors.Is(err, fault.ErrTruncated) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

// TestDamagedPlainLog: cuts are errors. Flipped bits are where they break the form; no checksum is there to tell the others.
func TestDamagedPlainLog(t *testing.T) {
	set, caught := sample().Set(), 0
	for n := range set {
		if err := readInline(set[:n]); !errors.Is(err, fault.ErrTruncated) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for i := range 8 * len(set) {
		b := bytes.Clone(set)
		b[i/8] ^= 1 << (i % 8)
		if err := readInline(b); err != nil {
			caught++
			if !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) {
				t.Fatal(err)
			}
		}
	}
	if caught < 6*len(set) {
		t.Errorf("only %d of %d flipped bits are noticed", caught, 8*len(set))
	}
}

// readInline reads a change set whose file is its handle.
func readInline(set []byte) error {
	b := append([]byte{0}, set...)
	l, err := openLog(&ChangelogFilesHandle{Range: allGroups, Storage: "filesystem", Files: []ChangelogFile{
		{Stream: &StreamHandle{Kind: Bytes, Inline: b, Size: int64(len(b))}}}})
	if err != nil {
		return err
	}
	_, err = dumpChanges(l, allGroups)
	return err
}

// metadataOf cuts a change set down to what describes states: real sets are too long to be varied well.
func metadataOf(f *testing.F, set []byte) []byte {
	r := javaio.NewReader("", 0, set)
	r.Skip(4)
	n, keyGroup := int(r.Int32()), r.Int32()
	for range n {
		r.Skip(int(r.Int32()))
	}
	if r.Err() != nil || keyGroup != metaGroup {
		f.Fatal("no metadata at the front of a file", r.Err())
	}
	return append([]byte{0, 0, 0, 1}, set[4:len(set)-r.Len()]...)
}

func FuzzChangelog(f *testing.F) {
	f.Add(sample().Set())
	f.Add([]byte{})
	files, err := filepath.Glob(filepath.Join(fixture.Unpack(f, fixture.ChangelogHeap), "dstl/*/*/*"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(metadataOf(f, b[flagSize:])) // a set stands at its front
	}
	f.Fuzz(func(t *testing.T, set []byte) {
		if err := readInline(set); err != nil && !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}
