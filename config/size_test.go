package config

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{"64MiB": 64 << 20, "2GiB": 2 << 30, "1500MB": 1_500_000_000, "512 MiB": 512 << 20, "0B": 0, "3KiB": 3072} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
		if again, err := ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%s prints as %s: %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "64", "MiB", "-1MiB", "1.5GiB", "64mib", "9999999999TiB", "64M"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
