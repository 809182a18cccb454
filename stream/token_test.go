package stream

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var oddNames = []string{
	"", "_", "__", "-", ".", "*", ">", "a.b", "a_b", "a b", "a__b", "a_2eb", "order totals.v1", "a.b > *", "ä€𝄞", "\x00\xff", "A", "a", "$KV", "epochs",
	strings.Repeat("k", 4096), strings.Repeat("k", 4095) + ".", strings.Repeat("_", 97), strings.Repeat("x", maxToken), strings.Repeat("x", maxToken+1),
	strings.Repeat("x", maxToken+2),
}

func TestToken(t *testing.T) {
	alphabet := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	seen := map[string]string{}
	check := func(name string) error {
		token := Token(name)
		if !alphabet.MatchString(token) || len(token) > maxToken {
			t.Fatalf("%q has token %q", name, token)
		}
		if other, ok := seen[token]; ok && other != name {
			t.Fatalf("%q and %q have the same token %q", name, other, token)
		}
		seen[token] = name
		back, err := Name(token)
		if err == nil && back != name {
			t.Fatalf("%q has token %q, which is %q", name, token, back)
		}
		return err
	}
	for _, name := range oddNames {
		if err := check(name); (err != nil) != (len(escape(name)) > maxToken) {
			t.Fatalf("%q: %v", name, err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		if err := check(string(rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(rt, "name"))); err != nil {
			rt.Fatal(err)
		}
	})
}

func FuzzName(f *testing.F) {
	for _, n := range oddNames {
		f.Add(Token(n))
	}
	f.Add("_zz")
	f.Add("a_")
	f.Add("_61")
	f.Fuzz(func(t *testing.T, token string) {
		if name, err := Name(token); err == nil && Token(name) != token && len(token) <= maxToken {
			t.Fatalf("%q is %q, which has token %q", token, name, Token(name))
		}
	})
}

// Sources, consumers and states may be called what they like; they stay apart.
func TestOddNames(t *testing.T) {
	b := connect(t, t.TempDir())
	type place struct{ source, consumer string }
	epochs := map[place]Epoch{}
	sources := map[string]*Source{}
	names := []string{"a.b", "a_b", "a b > *", "", strings.Repeat("k", 4096)}
	for i, sn := range names {
		s := source(t, b, sn)
		sources[sn] = s
		for j, cn := range names {
			e := fullEpoch(1, 1)
			e.Operator, e.State = "a.b > *", strings.Repeat("s", 4096)
			epochs[place{sn, cn}] = publish(t, publisher(t, s, cn), e, row('r', 0, i*100+j))
		}
	}
	for i, sn := range names {
		for j, cn := range names {
			e, err := next(t, sources[sn], cn, "", 0)
			if err != nil || e.Attempt != epochs[place{sn, cn}].Attempt || e.Consumer != cn || e.Source != sn || len(e.State) != 4096 {
				t.Fatalf("%q of %q: %+v, %v", clip(cn), clip(sn), e, err)
			}
			rows, err := collect(t, sources[sn], e)
			if err != nil {
				t.Fatal(err)
			}
			wantChanges(t, rows, row('r', 0, i*100+j))
		}
	}
}
