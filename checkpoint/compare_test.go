package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/state"
)

func TestCompareCostFollowsChange(t *testing.T) {
	const perKey, perFile = 4<<10 + 512, 16 << 10 // a block; the end of a file and its index
	large := oneChain(t, "9020")
	for i, wantChanges := range []int{21, 1000} {
		base, next := large[i], large[i+1]
		stretches := next.table("value", state.KindValue, 0).Compare(base.table("value", state.KindValue, 0), AllKeyGroups(128), ByFile)
		if len(stretches) != 1 || stretches[0].Method != ByFile {
			t.Fatalf("planned %+v", stretches)
		}
		s := &stretches[0]
		before := s.Reading()
		changes := len(differences(t, s))
		read := s.Reading().Minus(before).ReadBytes
		files := int64(s.Common.Files + s.OnlyBase.Files + s.OnlyNext.Files)
		limit := s.OnlyBase.Bytes + s.OnlyNext.Bytes + int64(changes)*perKey + files*perFile
		if s.Common.Bytes < 250<<10 || s.Common.Files < 3 {
			t.Fatalf("too little in common to show anything: %s", s.Common)
		}
		if changes != wantChanges || read > limit || read > s.ByMerge.Bytes {
			t.Errorf("%d changes of %d: read %d bytes, at most %d expected; in both %s, only base %s, only next %s; a merge would read %d",
				changes, wantChanges, read, limit, s.Common, s.OnlyBase, s.OnlyNext, s.ByMerge.Bytes)
		}
	}
}

func TestCompareStopsAtFaults(t *testing.T) {
	for name, link := range map[string]*fetch.Link{
		"near": nil, "far": fetch.NewLink(time.Millisecond, fetch.Options{}),
		"far, little memory": fetch.NewLink(time.Microsecond, fetch.Options{Lanes: 2, Memory: 2 << 10}),
	} {
		for _, ofBase := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, base %t", name, ofBase), func(t *testing.T) { stopsAtFaults(t, link, ofBase) })
		}
	}
}

// stopsAtFaults lets one request after the other fail, until none is left to fail.
func stopsAtFaults(t *testing.T, link *fetch.Link, ofBase bool) {
	lost := errors.New("lost")
	for left := range int64(400) {
		all := chainOver(t, "0008", link, false)
		base, next := all[2], all[4]
		broken := next
		if ofBase {
			broken = base
		}
		s := next.table("value", state.KindValue, 0).Compare(base.table("value", state.KindValue, 0), AllKeyGroups(128), ByFile)[0]
		if s.Method != ByFile || s.OnlyBase.Files == 0 || s.OnlyNext.Files == 0 {
			t.Fatal(s.Why, s.OnlyBase, s.OnlyNext)
		}
		broken.broken = lost
		broken.left.Store(left)
		got, failed, err := walked(t, &s)
		missed := broken.left.Load() >= 0
		if missed && (err != nil || left < 5) {
			t.Fatalf("%d reads: %v", left, err)
		}
		if !missed && (!errors.Is(err, lost) || failed != ofBase) && !unneeded(link, err) {
			t.Fatalf("fault after %d reads: err = %v, of base: %t", left, err, failed)
		}
		broken.broken = nil
		want := described(base.rows(base.table("value", state.KindValue, 0), AllKeyGroups(128)), next.rows(next.table("value", state.KindValue, 0), AllKeyGroups(128)))
		if err == nil {
			slices.Sort(got)
			if d := firstDifference(got, want); d != "" {
				t.Fatalf("fault after %d reads, and no error: %s", left, d)
			}
		}
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Fatalf("fault after %d reads: made up %s", left, line)
			}
		}
		if missed {
			return
		}
	}
	t.Error("400 reads were not enough")
}

// unneeded says that a fault may have met what was read ahead and then not needed: then there is none.
func unneeded(link *fetch.Link, err error) bool { return link.Far() && err == nil }

func TestCompareAsksSideBySide(t *testing.T) {
	large := chainOver(t, "9020", fetch.NewLink(time.Second, fetch.Options{}), false)
	base, next := large[1], large[2]
	next.delay = 5 * time.Millisecond
	s := next.table("value", state.KindValue, 0).Compare(base.table("value", state.KindValue, 0), AllKeyGroups(128), ByFile)[0]
	if n := len(differences(t, &s)); n != 1000 || next.most.Load() < 4 {
		t.Errorf("%d changes, at most %d reads at a time", n, next.most.Load())
	}
}

func TestCompareChoosesWhatReadsLess(t *testing.T) {
	large := oneChain(t, "9020")
	for i, want := range []Method{ByFile, Merge} {
		for _, s := range large[i+1].table("value", state.KindValue, 0).Compare(large[i].table("value", state.KindValue, 0), AllKeyGroups(128), Auto) {
			if s.Method != want {
				t.Errorf("%s, %s: in both %s, only base %s, only next %s; lsm %d, merge %d", s.Method, s.Why, s.Common, s.OnlyBase, s.OnlyNext, s.ByFile.Bytes, s.ByMerge.Bytes)
			}
		}
	}
}

func TestPlace(t *testing.T) {
	handles := map[string]*flink.StreamHandle{
		"plain":     {Kind: flink.AbsoluteFile, Path: "/chk/sp-1/u"},
		"file":      {Kind: flink.AbsoluteFile, Path: "file:/chk/sp-1/u"},
		"slashes":   {Kind: flink.AbsoluteFile, Path: "file:///chk/sp-1/u"},
		"relative":  {Kind: flink.RelativeFile, Path: "u"},
		"other":     {Kind: flink.AbsoluteFile, Path: "/chk/sp-1/v"},
		"remote":    {Kind: flink.AbsoluteFile, Path: "s3://chk/sp-1/u"},
		"segment":   {Kind: flink.Segment, Path: "/chk/sp-1/u", Offset: 0, Size: 9},
		"segment 2": {Kind: flink.Segment, Path: "/chk/sp-1/u", Offset: 9, Size: 9},
		"bytes":     {Kind: flink.Bytes, Path: "/chk/sp-1/u", Inline: []byte("x")},
		"bytes 2":   {Kind: flink.Bytes, Path: "/chk/sp-1/u", Inline: []byte("y")},
	}
	same := []string{"plain", "file", "slashes", "relative"}
	for a := range handles {
		for b := range handles {
			want := a == b || slices.Contains(same, a) && slices.Contains(same, b)
			if got := files(handles).place(a, "file:/chk/sp-1") == files(handles).place(b, "file:/chk/sp-1"); got != want {
				t.Errorf("%s and %s are one file: %t", a, b, got)
			}
		}
	}
	handles["empty"] = &flink.StreamHandle{Kind: flink.EmptySegment}
	for _, name := range []string{"empty", "unknown"} {
		if at := files(handles).place(name, "/chk/sp-1"); at != "" {
			t.Errorf("%s is at %q", name, at)
		}
	}
}

// BenchmarkCompare finds 21 changed rows among 6000 that lie in common files.
func BenchmarkCompare(b *testing.B) {
	large := oneChain(b, "9020")
	base, next := large[0].table("value", state.KindValue, 0), large[1].table("value", state.KindValue, 0)
	b.Run("lsm", func(b *testing.B) {
		for b.Loop() {
			s := next.Compare(base, AllKeyGroups(128), ByFile)[0]
			d := s.Differences(b.Context())
			for d.Next() {
			}
			if err := errors.Join(d.Err(), d.Close()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("rows of one side", func(b *testing.B) { // a merge walks both
		for b.Loop() {
			if n, err := next.Count(b.Context()); err != nil || n < 5999 {
				b.Fatal(n, err)
			}
		}
	})
}
