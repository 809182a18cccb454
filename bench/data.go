package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A bench has everything that the measurements start.
type bench struct {
	settings
	repository  string
	statebridge string // the binary
	java        string // the script that starts a class
	diffs       map[int]diffResult
}

// A pair is two checkpoints of one job, keys in each, changes between them.
type pair struct {
	base, next    string
	keys, changes int
}

func (p pair) String() string {
	return fmt.Sprintf("%s keys, %s changed", count(p.keys), count(p.changes))
}

func count(n int) string {
	switch {
	case n >= 1_000_000 && n%100_000 == 0:
		return fmt.Sprintf("%gM", float64(n)/1e6)
	case n >= 1000 && n%100 == 0:
		return fmt.Sprintf("%gk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// prepare builds what is measured and the peers.
func prepare(ctx context.Context, s settings) (*bench, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	b := &bench{settings: s, repository: string(out[:len(out)-1]), statebridge: s.binary, diffs: map[int]diffResult{}}
	if b.dir, err = filepath.Abs(s.dir); err != nil {
		return nil, err
	}
	b.java = filepath.Join(b.repository, "bench", "flink", "java.sh")
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	if !b.wants("export", "diff", "growth", "remote", "once") {
		return b, nil
	}
	if b.statebridge == "" {
		b.statebridge = filepath.Join(b.dir, "statebridge")
		if err := b.build(ctx, ".", "go", "build", "-trimpath", "-o", b.statebridge, "./cmd/statebridge"); err != nil {
			return nil, err
		}
	}
	return b, b.build(ctx, filepath.Join("bench", "flink"), "mvn", "-q", "-B", "-P", s.flink, "package")
}

// wants says whether one of these is to be measured.
func (b *bench) wants(items ...string) bool {
	return slices.ContainsFunc(items, func(item string) bool { return slices.Contains(strings.Split(b.items, ","), item) })
}

func (b *bench) build(ctx context.Context, dir string, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = filepath.Join(b.repository, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", command, err, out)
	}
	return nil
}

// snapshots gives the two checkpoints of a job with so many keys. They are made unless they are there; the job writes scenario.json last.
func (b *bench) snapshots(ctx context.Context, keys int) (pair, error) {
	p := pair{keys: keys, changes: b.changes}
	if p.changes == 0 {
		p.changes = keys / 1000
	}
	dir := filepath.Join(b.dir, fmt.Sprintf("%s-%d-%d", b.flink, p.keys, p.changes))
	err := p.load(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if err := b.generate(ctx, dir, p); err != nil {
		return p, err
	}
	return p, p.load(dir)
}

func (b *bench) generate(ctx context.Context, dir string, p pair) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bench: making two checkpoints of %v in %s\n", p, dir)
	fraction := fmt.Sprintf("%.12f", float64(p.changes)/float64(p.keys))
	_, err := measure(ctx, nil, nil, b.java, b.flink, "statebridge.bank.Main", "--mode", "bulk", "--dir", dir, "--keys", fmt.Sprint(p.keys), "--fraction", fraction)
	return errors.Join(err, os.RemoveAll(filepath.Join(dir, "tmp")))
}

func (p *pair) load(dir string) error {
	all, err := os.ReadFile(filepath.Join(dir, "scenario.json"))
	if err != nil {
		return err
	}
	var scenario struct {
		Snapshots []struct {
			Path string `json:"path"`
		} `json:"snapshots"`
	}
	if err := json.Unmarshal(all, &scenario); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if len(scenario.Snapshots) != 2 {
		return fmt.Errorf("%s: %d snapshots, not 2", dir, len(scenario.Snapshots))
	}
	p.base, p.next = filepath.Join(dir, scenario.Snapshots[0].Path), filepath.Join(dir, scenario.Snapshots[1].Path)
	return nil
}
