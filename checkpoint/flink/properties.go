package flink

import "github.com/statebridge/statebridge/state/javaobj"

// Properties say what kind of snapshot this is.
type Properties struct {
	Type         string // as Flink names it: "Checkpoint", "Full Checkpoint", "Savepoint", "Terminate Savepoint", "Suspend Savepoint"
	Savepoint    bool
	Format       Format // of a savepoint
	Unclaimed    bool   // restored from without being owned
	SharingFiles string // of a checkpoint: how files may be shared with others
}

// Format is how a savepoint holds keyed state.
type Format string

// The formats.
const (
	Canonical Format = "CANONICAL"
	Native    Format = "NATIVE"
)

const (
	propertiesClass = "org.apache.flink.runtime.checkpoint.CheckpointProperties"
	checkpointClass = "org.apache.flink.runtime.checkpoint.CheckpointType"
	savepointClass  = "org.apache.flink.runtime.checkpoint.SavepointType"
)

func (r *metadataReader) properties() *Properties {
	v := javaobj.Parse(r.Reader)
	if r.Err() != nil {
		return nil
	}
	o, _ := v.(*javaobj.Object)
	if !o.IsA(propertiesClass) {
		r.Unsupported("checkpoint properties of class %q", o.ClassName())
		return nil
	}
	kind := o.Object("checkpointType")
	p := &Properties{Type: kind.String("name"), Unclaimed: o.Bool("unclaimed"), SharingFiles: kind.Enum("sharingFilesStrategy")}
	switch {
	case kind.IsA(checkpointClass):
	case kind.IsA(savepointClass):
		p.Savepoint, p.Format = true, Format(kind.Enum("formatType"))
	default:
		r.Unsupported("checkpoint type of class %q", kind.ClassName())
	}
	return p
}
