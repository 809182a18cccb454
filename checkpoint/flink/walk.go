package flink

import "iter"

// Role is what a stream handle is for.
type Role string

// The roles.
const (
	RoleCoordinator Role = "coordinator"
	RoleOperator    Role = "operator state"
	RoleKeyGroups   Role = "key groups"
	RoleMeta        Role = "database meta"
	RoleShared      Role = "shared file"
	RolePrivate     Role = "private file"
	RoleChangelog   Role = "changelog"
	RoleChannel     Role = "channel state"
)

// Ref is a stream handle and where it hangs.
type Ref struct {
	Operator *Operator
	Subtask  int // -1: of the operator as a whole
	Raw      bool
	Role     Role
	Name     string // of a database's file: what the database calls it
	Handle   *StreamHandle
}

// StreamHandles shows every stream handle of the snapshot in the order of the file. One file can appear several times.
func (m *Metadata) StreamHandles() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for i := range m.Operators {
			if !m.Operators[i].walk(yield) {
				return
			}
		}
	}
}

func (o *Operator) walk(yield func(Ref) bool) bool {
	if o.Coordinator != nil && !yield(Ref{Operator: o, Subtask: -1, Role: RoleCoordinator, Handle: o.Coordinator}) {
		return false
	}
	for i := range o.Subtasks {
		if !o.Subtasks[i].walk(o, yield) {
			return false
		}
	}
	return true
}

func (s *Subtask) walk(o *Operator, yield func(Ref) bool) bool {
	visit := func(raw bool) func(Role, string, *StreamHandle) bool {
		return func(role Role, name string, h *StreamHandle) bool {
			return h == nil || yield(Ref{Operator: o, Subtask: s.Index, Raw: raw, Role: role, Name: name, Handle: h})
		}
	}
	managed, raw := visit(false), visit(true)
	return (s.ManagedOperator == nil || managed(RoleOperator, "", s.ManagedOperator.Stream)) &&
		(s.RawOperator == nil || raw(RoleOperator, "", s.RawOperator.Stream)) &&
		(s.ManagedKeyed == nil || s.ManagedKeyed.walk(managed)) &&
		(s.RawKeyed == nil || s.RawKeyed.walk(raw)) &&
		walkChannels(s.InputChannels, managed) && walkChannels(s.OutputChannels, managed)
}

func walkChannels(channels []ChannelHandle, yield func(Role, string, *StreamHandle) bool) bool {
	for _, c := range channels {
		if !yield(RoleChannel, "", c.Stream) {
			return false
		}
	}
	return true
}

func (h *KeyGroupsHandle) walk(yield func(Role, string, *StreamHandle) bool) bool {
	return yield(RoleKeyGroups, "", h.Stream)
}

func (h *IncrementalHandle) walk(yield func(Role, string, *StreamHandle) bool) bool {
	return yield(RoleMeta, "", h.Meta) && walkFiles(RoleShared, h.Shared, yield) && walkFiles(RolePrivate, h.Private, yield)
}

func walkFiles(role Role, files []NamedHandle, yield func(Role, string, *StreamHandle) bool) bool {
	for _, f := range files {
		if !yield(role, f.Name, f.Stream) {
			return false
		}
	}
	return true
}

func (h *ChangelogHandle) walk(yield func(Role, string, *StreamHandle) bool) bool {
	for _, list := range [][]KeyedHandle{h.Materialized, h.Deltas} {
		for _, k := range list {
			if !k.walk(yield) {
				return false
			}
		}
	}
	return true
}

func (h *ChangelogBytesHandle) walk(func(Role, string, *StreamHandle) bool) bool { return true }

func (h *ChangelogFilesHandle) walk(yield func(Role, string, *StreamHandle) bool) bool {
	for _, f := range h.Files {
		if !yield(RoleChangelog, "", f.Stream) {
			return false
		}
	}
	return true
}
