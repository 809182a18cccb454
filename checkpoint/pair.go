package checkpoint

import (
	"context"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/checkpoint/flink"
)

// LoadPair is Load for operators of two snapshots that are about to be compared. Of far ones it also sends for the ends of the tables that
// this takes: all of next's, as what has changed is looked up in them, and those that only base has.
func LoadPair(ctx context.Context, base, next []*Operator) {
	before, after := tablePlaces(base), tablePlaces(next)
	for _, o := range base {
		o.expect(func(place string) (own, needed bool) { return !after[place], !after[place] })
	}
	for _, o := range next {
		o.expect(func(place string) (own, needed bool) { return !before[place], true })
	}
	Load(ctx, slices.Concat(base, next))
}

// An expectation says of a table, by its place, whether the other snapshot lacks it and whether it will be read.
type expectation func(place string) (own, needed bool)

func (o *Operator) expect(e expectation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expects = e
}

// tablePlaces are the places of all tables of incremental handles.
func tablePlaces(operators []*Operator) map[string]bool {
	places := map[string]bool{}
	for _, o := range operators {
		for i := range o.Subtasks {
			if h, ok := o.Subtasks[i].ManagedKeyed.(*flink.IncrementalHandle); ok {
				files := filesOf(h)
				for name := range files {
					if isTable(name) {
						places[files.place(name, o.snapshot.Location)] = true
					}
				}
			}
		}
	}
	return places
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// early names the tables that are expected to be read, those first that the other snapshot lacks.
func (o *Operator) early(files files) (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expects == nil {
		return nil
	}
	var common []string
	for name, h := range files {
		if !isTable(name) || h.Kind != flink.AbsoluteFile && h.Kind != flink.RelativeFile {
			continue
		}
		switch own, needed := o.expects(files.place(name, o.snapshot.Location)); {
		case own:
			names = append(names, name)
		case needed:
			common = append(common, name)
		}
	}
	slices.Sort(common)
	return append(names, common...)
}
