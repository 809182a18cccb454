package fluss

import (
	"fmt"
	"strings"
)

// place is what the directories above a snapshot are called for.
type place struct {
	Table     string // database.table; of other directories than Fluss makes, the table's id
	Partition string // its values, with $ between them; "" if the table has no partitions, and of other directories
}

// locate reads the names from where the snapshot was written: wherever it lies now, directories may have other names.
func (m *Metadata) locate() place {
	p := place{Table: fmt.Sprintf("table-%d", m.TableID)}
	rest, ok := m.parents(m.Location)
	if !ok {
		return p
	}
	if m.PartitionID != nil {
		above, last := cut(rest)
		name, named := strings.CutSuffix(last, fmt.Sprintf("-p%d", *m.PartitionID))
		if !named || name == "" {
			return p
		}
		p.Partition, rest = name, above
	}
	rest, last := cut(rest)
	_, database := cut(rest)
	table, named := strings.CutSuffix(last, fmt.Sprintf("-%d", m.TableID))
	if named && table != "" && database != "" {
		p.Table = database + "." + table
	}
	return p
}

// parents takes the snapshot's and the bucket's directory off.
func (m *Metadata) parents(location string) (rest string, ok bool) {
	rest, snap := cut(strings.TrimRight(location, "/"))
	rest, bucket := cut(rest)
	return rest, snap == fmt.Sprintf("snap-%d", m.SnapshotID) && bucket == fmt.Sprint(m.BucketID)
}

// cut takes the last directory off a path.
func cut(path string) (above, last string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}
