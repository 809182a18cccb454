package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// goBench is a benchmark of one package, whose parts are compared with each other.
type goBench struct {
	pkg, name string
	unit      string // of the numbers that are wanted
	flags     []string
}

// run gives the numbers of each part, of some rounds.
func (g goBench) run(ctx context.Context, repository string, rounds int) (map[string][]float64, error) {
	numbers := map[string][]float64{}
	for range rounds {
		if err := g.round(ctx, repository, numbers); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

func (g goBench) round(ctx context.Context, repository string, numbers map[string][]float64) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-run", "^$", "-bench", "^" + g.name + "$", g.pkg}, g.flags...)...)
	cmd.Dir = repository
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench %s: %w\n%s", g.name, err, out)
	}
	pattern := regexp.MustCompile(g.name + `/(\w+)\S*\s.*?([\d.e+]+) ` + regexp.QuoteMeta(g.unit))
	for line := range bytes.Lines(out) {
		if m := pattern.FindSubmatch(line); m != nil {
			n, _ := strconv.ParseFloat(string(m[2]), 64) // as Go prints it
			numbers[string(m[1])] = append(numbers[string(m[1])], n)
		}
	}
	return nil
}

// pair gives the numbers of two parts, which are as many.
func (g goBench) pair(numbers map[string][]float64, one, other string) (a, b []float64, err error) {
	a, b = numbers[one], numbers[other]
	if len(a) == 0 || len(a) != len(b) {
		return nil, nil, fmt.Errorf("go test -bench %s gave %d and %d numbers", g.name, len(a), len(b))
	}
	return a, b, nil
}
