package config

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func env(pairs ...string) Environ {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

var exampleEnv = env("DATABASE_URL", "postgres://bridge:hidden-word@db/bank", "REDIS_URL", "redis://cache:6379",
	"NATS_PASSWORD", "hidden-word", "REDIS_PASSWORD", "hidden-word", "SET", "x")

func TestLoadExample(t *testing.T) {
	got, err := Load("testdata/bank.yaml", exampleEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		NATS:    NATS{Prefix: "statebridge", Replicas: 1, Keep: 24 * time.Hour},
		Storage: Storage{Requests: 512, CacheMiB: 1024, S3: S3{PathStyle: "auto"}},
		Source:  Source{Name: "bank", Flink: Flink{Checkpoints: "file:///flink/checkpoints", Poll: time.Second}, Partitions: 4, MaxDeletePercent: 50, MaxDeleteRows: 10},
		Consumers: []Consumer{
			{Name: "accounts", Operator: "accounts-op", State: "balance", Columns: Columns{{Name: "id", Path: "key"}, {Name: "balance", Path: "value"}}},
			{Name: "carts", Operator: "carts-op", State: "items"},
		},
		Sinks: []Sink{
			{Name: "pg", Consumers: []string{"accounts", "carts"}, Drift: "add", BadValue: "reject", Refused: "wait", Atomic: "table", Postgres: &Postgres{URL: "postgres://bridge:hidden-word@db/bank", Schema: "public"}},
			{Name: "cache", Consumers: []string{"accounts"}, Drift: "add", BadValue: "reject", Refused: "wait", Atomic: "table", Redis: &Redis{URL: "redis://cache:6379", Key: "accounts:{id}", Encoding: "hash", Publish: "rows", Grace: time.Second}},
		},
		Role: "all", DataDir: "./statebridge-data",
		Memory: 512 << 20,
		Log:    Log{Level: "info", Format: "text"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func TestLoadFull(t *testing.T) {
	c, err := Load("testdata/full.yaml", exampleEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Source.Partitions != 8 || c.NATS.Keep != 48*time.Hour || c.NATS.Domain != "hub" || c.NATS.Replicas != 3 || c.Sinks[1].Redis.TLS.CA != "/etc/redis/ca.pem" || c.Consumers[0].Columns[2].Name != "opened" ||
		c.Consumers[0].Columns[4] != (Column{"at", "value.at", Text}) {
		t.Fatalf("%+v", c)
	}
}

// TestFaults: every fault of a file, in one go, each under its path, and no secret in any.
func TestFaults(t *testing.T) {
	files, err := filepath.Glob("testdata/faults/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := Load(file, exampleEnv, nil)
			if err == nil || c != nil {
				t.Fatalf("config %v, err %v: want a fault", c, err)
			}
			var field *FieldError
			if !errors.As(err, &field) {
				t.Fatalf("%v holds no FieldError", err)
			}
			text := err.Error() + "\n"
			if strings.Contains(text, "hidden-word") || strings.Contains(text, "secret-word") {
				t.Errorf("a secret is told:\n%s", text)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", text)
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-update rewrites it):\n%s", file, d)
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := Load("testdata/no-such.yaml", exampleEnv, nil); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestInterpolate(t *testing.T) {
	e := env("A", "1", "EMPTY", "", "TRICKY", "x: ${A} $$ }")
	for in, want := range map[string]string{
		"":                  "",
		"plain":             "plain",
		"${A}":              "1",
		"a${A}b${A}c":       "a1b1c",
		"${EMPTY}":          "",
		"${EMPTY:-d}":       "d",
		"${NONE:-}":         "",
		"${NONE:-a:-b $x}":  "a:-b $x",
		"$$":                "$",
		"$${A}":             "${A}",
		"$$$${A}":           "$${A}",
		"pa$word$":          "pa$word$",
		"$A":                "$A",
		"${TRICKY}":         "x: ${A} $$ }", // what a variable holds is text, whatever it looks like
		"${NONE} ":          "! needs the variable NONE, which is not set",
		"${":                "! has a ${ without its }; $$ stands for a plain $",
		"${}":               "! has a ${…} that names no variable; $$ stands for a plain $",
		"${A-b}":            "! has a ${…} that names no variable; $$ stands for a plain $",
		"${NONE:-${A}}":     "! has a ${NONE:-…} with another ${ inside, which is not read",
		"${9}":              "! has a ${…} that names no variable; $$ stands for a plain $",
		"\u00e9${A}\u00e9$": "\u00e91\u00e9$",
	} {
		got, err := interpolate(in, e)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// A variable is read after the YAML, so it cannot add members.
func TestVariableIsNoYAML(t *testing.T) {
	text := "source: {name: \"${X}\", flink: {checkpoints: /c}}\nconsumers: [{name: a, operator: o, state: s}]\n"
	c, err := Parse([]byte(text), env("X", "s, partitions: 9"), nil)
	if err != nil || c.Source.Name != "s, partitions: 9" || c.Source.Partitions != 4 {
		t.Fatalf("%+v, %v", c, err)
	}
}

const small = "source: {name: s, flink: {checkpoints: /c}}\nconsumers: [{name: a, operator: o, state: s}]\nlog: {level: warn}\n"

func TestLayers(t *testing.T) {
	e := env("STATEBRIDGE_LOG_LEVEL", "debug", "STATEBRIDGE_SOURCE_PARTITIONS", "7", "STATEBRIDGE_DATA_DIR", "/d", "STATEBRIDGE_LOG_FORMAT", "")
	c, err := Parse([]byte(small), e, map[string]string{"log.level": "error", "source.flink.poll": "3s"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Log != (Log{"error", "text"}) || c.Source.Partitions != 7 || c.DataDir != "/d" || c.Source.Flink.Poll != 3*time.Second {
		t.Fatalf("%+v", c)
	}
	_, err = Parse([]byte(small), env("STATEBRIDGE_SOURCE_PARTITIONS", "lots"), map[string]string{"log.colour": "red"})
	want := "source.partitions: must be a whole number (from STATEBRIDGE_SOURCE_PARTITIONS)\nlog.colour: is no setting that can be given outside the file"
	if err == nil || err.Error() != want {
		t.Fatalf("err = %v", err)
	}
}

// A value from outside replaces a faulty one of the file.
func TestOverrideHealsFault(t *testing.T) {
	text := strings.Replace(small, "name: s,", "name: '${UNSET}', partitions: x,", 1)
	c, err := Parse([]byte(text), env("STATEBRIDGE_SOURCE_NAME", "n"), map[string]string{"source.partitions": "2"})
	if err != nil || c.Source.Name != "n" || c.Source.Partitions != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestSecretFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("nats://u:hidden-word@bus:4222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := small + "nats: {url_file: " + file + "}\n"
	c, err := Parse([]byte(text), env(), nil)
	if err != nil || c.NATS.URL.Reveal() != "nats://u:hidden-word@bus:4222" {
		t.Fatalf("%v, %v", c, err)
	}
	c, err = Parse([]byte(text), env("STATEBRIDGE_NATS_URL", "nats://other"), nil)
	if err != nil || c.NATS.URL.Reveal() != "nats://other" {
		t.Fatalf("the environment comes before url_file: %v, %v", c, err)
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	c, err := Load("testdata/bank.yaml", exampleEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	slog.New(slog.NewJSONHandler(&b, nil)).Info("config", "config", c, "url", c.Sinks[0].Postgres.URL)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&b, verb+"\n", *c.Sinks[0].Postgres)
	}
	if s := b.String(); strings.Contains(s, "hidden-word") || strings.Contains(s, fmt.Sprintf("%x", "hidden-word")) || !strings.Contains(s, masked) {
		t.Fatal(s)
	}
}

func TestAnchors(t *testing.T) {
	text := "source: {name: &n s, flink: {checkpoints: /c}}\nconsumers: [&a {name: *n, operator: o, state: s}]\n"
	if c, err := Parse([]byte(text), env(), nil); err != nil || c.Consumers[0].Name != "s" {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, bad := range []string{"source: &a {name: *a}\n", "source: {name: *none}\n", "source: &a *a\n"} {
		if _, err := Parse([]byte(bad), env(), nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSettingsAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, s := range Settings() {
		if other, ok := seen[s.Env]; ok {
			t.Errorf("%s and %s are both %s", s.Path, other, s.Env)
		}
		seen[s.Env] = s.Path
	}
	if seen["STATEBRIDGE_SOURCE_FLINK_CHECKPOINTS"] != "source.flink.checkpoints" || seen["STATEBRIDGE_DATA_DIR"] != "data_dir" {
		t.Fatal(seen)
	}
}

// FuzzParse: any text gives a config that is valid, or faults; never a panic.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	more, _ := filepath.Glob("testdata/faults/*.yaml")
	for _, file := range append(files, more...) {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("source: &a {<<: *a}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b, exampleEnv, nil)
		var field *FieldError
		switch {
		case err == nil:
			if err := c.Validate(); err != nil {
				t.Fatalf("taken, and faulty: %v", err)
			}
		case !errors.As(err, &field):
			t.Fatal(err)
		}
	})
}

// The embedded server asks for user and password once it listens.
func TestEmbeddedLogin(t *testing.T) {
	c, err := Parse([]byte(small+"nats: {listen: '127.0.0.1:4222', user: u, password: p}\n"), env(), nil)
	if err != nil || c.NATS.User != "u" {
		t.Fatal(err)
	}
}
