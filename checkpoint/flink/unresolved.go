package flink

import "context"

// Unresolved opens every file that a snapshot refers to, once each, and gives the errors of those that are not there, or too short: a copy that is not whole. It
// ends early with ctx.
func (r *Resolver) Unresolved(ctx context.Context, m *Metadata) []error {
	var faults []error
	type place struct {
		path   string
		offset int64
	}
	seen := map[place]bool{}
	for ref := range m.StreamHandles() {
		at := place{ref.Handle.Path, ref.Handle.Offset}
		if ref.Handle.Kind == Bytes || ref.Handle.Kind == EmptySegment || seen[at] {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		seen[at] = true
		open := r.Open
		if ref.Role == RoleChangelog {
			open = r.OpenFile // their handles' sizes are not those of files
		}
		f, err := open(ctx, ref.Handle)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}
