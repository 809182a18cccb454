package flink

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

func TestReadMetadataOfJobs(t *testing.T) {
	files := unzip(t, "metadata")
	for _, name := range []string{"heap-1.20", "heap-async-2.3", "canonical-heap-2.3", "broadcast-2.3"} {
		files[name] = unzip(t, name)["_metadata"]
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			m, err := ReadMetadata(name, files[name])
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, dump(m))
		})
	}
}

// TestReadMetadataVersions reads what each version writes: every handle kind, name and uid, finished operators and
// subtasks. Version 99 and one that Flink itself does not read any more are named.
func TestReadMetadataVersions(t *testing.T) {
	for version := range int32(10) {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			m, err := ReadMetadata("_metadata", everything(version))
			if version < 2 || version > 6 {
				if !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), fmt.Sprintf("version %d is not supported (2 to 6 are)", version)) {
					t.Fatalf("err = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			golden(t, fmt.Sprintf("version-%d", version), dump(m))
		})
	}
}

// TestReadMetadataCut cuts files at every byte: each cut is named as one, and none passes for a whole file.
func TestReadMetadataCut(t *testing.T) {
	files := unzip(t, "metadata")
	files = map[string][]byte{"merging-1.20": files["merging-1.20"], "changelog-heap-1.20": files["changelog-heap-1.20"]}
	for v := int32(2); v <= 6; v++ {
		files[fmt.Sprintf("version-%d", v)] = everything(v)
	}
	for name, b := range files {
		for n := range b {
			if m, err := ReadMetadata(name, b[:n]); m != nil || !errors.Is(err, fault.ErrTruncated) {
				t.Fatalf("%s cut at %d of %d: %v", name, n, len(b), err)
			}
		}
	}
}

func TestReadMetadataLeftOver(t *testing.T) {
	for v := int32(2); v <= 6; v++ {
		if _, err := ReadMetadata("_metadata", append(everything(v), 0)); !errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrTruncated) {
			t.Errorf("version %d: %v", v, err)
		}
	}
}

// TestReadMetadataFlipped flips every third bit: some flips give another good file, none may give a third kind of error.
func TestReadMetadataFlipped(t *testing.T) {
	for name, b := range map[string][]byte{"merging-1.20": unzip(t, "metadata")["merging-1.20"], "version-6": everything(6)} {
		for bit := 0; bit < 8*len(b); bit += 3 {
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := ReadMetadata(name, b); !formatError(err) {
				t.Fatalf("%s, bit %d: %v", name, bit, err)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestReadMetadataRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(w *writer)
		want error
		text string
	}{
		"no metadata":         {func(w *writer) { w.i32(0x12345678).i32(4) }, fault.ErrCorrupt, "starts with 0x12345678"},
		"negative checkpoint": {func(w *writer) { w.header(3).i64(-1).i32(0).i32(0) }, fault.ErrCorrupt, "checkpoint id -1"},
		"huge count":          {func(w *writer) { w.header(3).i64(1).i32(0).i32(1 << 30) }, fault.ErrTruncated, ""},
		"negative count":      {func(w *writer) { w.header(3).i64(1).i32(-7).i32(0) }, fault.ErrCorrupt, "-7"},
		"unknown handle":      {func(w *writer) { w.subtask(3).u8(99).bytes(make([]byte, 99)) }, fault.ErrUnsupported, "handle tag 99"},
		"stream for keyed":    {func(w *writer) { w.subtask(3).u8(tagFileStream).bytes(make([]byte, 99)) }, fault.ErrCorrupt, "handle tag 2"},
		"no stream":           {func(w *writer) { w.subtask(3).u8(tagKeyGroups).i32(0).i32(0).u8(0).bytes(make([]byte, 9)) }, fault.ErrCorrupt, "without a stream"},
		"key groups beyond max": {func(w *writer) {
			w.subtask(3).u8(tagKeyGroups).i32(128).i32(1).i64(5).inline("x").bytes(make([]byte, 9))
		}, fault.ErrCorrupt, "max parallelism 128"},
		"key groups overflow": {func(w *writer) { w.subtask(3).u8(tagKeyGroups).i32(1).i32(1<<31 - 1).bytes(make([]byte, 99)) }, fault.ErrCorrupt, "key groups from 1"},
		"nested without end": {func(w *writer) {
			w.subtask(3)
			for range 100 {
				w.u8(tagChangelogV2).i32(0).i32(1).i64(0).i32(1)
			}
		}, fault.ErrCorrupt, "nested"},
		"negative size": {func(w *writer) {
			w.subtask(3).u8(tagKeyGroups).i32(0).i32(0).u8(tagFileStream).i64(-5).utf("file:/a").bytes(make([]byte, 9))
		}, fault.ErrCorrupt, "negative size"},
		"Flink 1.1": {func(w *writer) {
			w.header(2).i64(1).i32(0).i32(1).operator(2, 1).i32(0).i64(-1).i32(3).bytes(make([]byte, 99))
		}, fault.ErrUnsupported, "Flink 1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			var w writer
			c.edit(&w)
			_, err := ReadMetadata("f", w)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// formatError says whether err is none or one of the two kinds that bytes can give.
func formatError(err error) bool {
	return err == nil || errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported)
}

func FuzzReadMetadata(f *testing.F) {
	f.Add(unzip(f, "metadata")["merging-1.20"])
	for v := int32(2); v <= 6; v++ {
		f.Add(everything(v))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadMetadata("fuzz", b)
		if !formatError(err) {
			t.Fatal(err)
		}
		if err == nil {
			dump(m)
		}
	})
}

// dump prints metadata as text that a person can review.
func dump(m *Metadata) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d, checkpoint %d, Kryo 5 %t\n", m.Version, m.CheckpointID, m.Kryo5())
	if m.Properties != nil {
		fmt.Fprintf(&b, "properties %+v\n", *m.Properties)
	}
	for _, s := range m.MasterStates {
		fmt.Fprintf(&b, "master state %q version %d: %s\n", s.Name, s.Version, blob(s.Payload))
	}
	for _, o := range m.Operators {
		fmt.Fprintf(&b, "operator %s name %q uid %q parallelism %d/%d finished %t\n", o.ID, o.Name, o.UID, o.Parallelism, o.MaxParallelism, o.Finished)
		for _, s := range o.Subtasks {
			fmt.Fprintf(&b, "  subtask %d finished %t\n", s.Index, s.Finished)
			dumpOperatorHandle(&b, "managed", s.ManagedOperator)
			dumpOperatorHandle(&b, "raw", s.RawOperator)
			dumpKeyed(&b, "    managed keyed: ", s.ManagedKeyed)
			dumpKeyed(&b, "    raw keyed: ", s.RawKeyed)
			for _, c := range slices.Concat(s.InputChannels, s.OutputChannels) {
				fmt.Fprintf(&b, "    channel of subtask %d, %d bytes: %v\n", c.Subtask, c.Size, c.Channels)
			}
		}
	}
	for r := range m.StreamHandles() {
		fmt.Fprintf(&b, "%s subtask %d raw %t %s %q: %s\n", r.Operator.ID[:6], r.Subtask, r.Raw, r.Role, r.Name, dumpStream(r.Handle))
	}
	return b.String()
}

func dumpOperatorHandle(b *strings.Builder, what string, h *OperatorHandle) {
	if h == nil {
		return
	}
	fmt.Fprintf(b, "    %s operator state, empty %t, %q, %q\n", what, h.Empty, h.TaskOwnedDir, h.SharedDir)
	for _, s := range h.States {
		fmt.Fprintf(b, "      %s %q at %d\n", s.Mode, s.Name, s.Offsets)
	}
}

func dumpKeyed(b *strings.Builder, what string, h KeyedHandle) {
	switch h := h.(type) {
	case nil:
	case *KeyGroupsHandle:
		fmt.Fprintf(b, "%skey groups %s canonical %t id %q at %d\n", what, h.Range, h.Canonical, h.ID, h.Offsets)
	case *IncrementalHandle:
		fmt.Fprintf(b, "%sincremental %s checkpoint %d database %s size %d id %q\n", what, h.Range, h.CheckpointID, h.Backend, h.CheckpointedSize, h.ID)
	case *ChangelogHandle:
		fmt.Fprintf(b, "%schangelog %s checkpoint %d materialization %d size %d id %q\n", what, h.Range, h.CheckpointID, h.MaterializationID, h.CheckpointedSize, h.ID)
		for _, k := range h.Materialized {
			dumpKeyed(b, "      materialized: ", k)
		}
		for _, k := range h.Deltas {
			dumpKeyed(b, "      delta: ", k)
		}
	case *ChangelogBytesHandle:
		fmt.Fprintf(b, "%schanges %s from %d to %d id %q\n", what, h.Range, h.From, h.To, h.ID)
		for _, c := range h.Changes {
			fmt.Fprintf(b, "        key group %d: %s\n", c.KeyGroup, blob(c.Data))
		}
	case *ChangelogFilesHandle:
		fmt.Fprintf(b, "%schange files %s size %d of %d in %q id %q\n", what, h.Range, h.CheckpointedSize, h.Size, h.Storage, h.ID)
		for _, f := range h.Files {
			fmt.Fprintf(b, "        at %d\n", f.Offset)
		}
	default:
		fmt.Fprintf(b, "%s%T\n", what, h)
	}
}

func dumpStream(h *StreamHandle) string {
	text := fmt.Sprintf("%s %s size %d", h.Kind, h.Path, h.Size)
	switch h.Kind {
	case Bytes:
		text += " " + blob(h.Inline)
	case Segment:
		text += fmt.Sprintf(" at %d shared %t of %q", h.Offset, h.Shared, h.LogicalID)
	}
	return text
}

func blob(b []byte) string { return fmt.Sprintf("%d bytes crc %08x", len(b), crc32.ChecksumIEEE(b)) }
