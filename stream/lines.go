package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Headers of every message.
const (
	headerID      = nats.MsgIdHdr
	headerType    = "Content-Type"
	headerKind    = "Statebridge-Kind"
	headerEpoch   = "Statebridge-Epoch"
	headerAttempt = "Statebridge-Attempt"
	headerCount   = "Statebridge-Count" // of change lines

	contentType = "application/x-ndjson"

	kindBegin   = "begin"
	kindChanges = "changes"
	kindCommit  = "commit"
	kindAbort   = "abort"
)

// controlLane stands for the control subject where a partition is meant otherwise.
const controlLane = -1

// origin is the member "source" of a line.
type origin struct {
	Name         string `json:"name"`
	Job          string `json:"job"`
	CheckpointID int64  `json:"checkpoint_id"`
	Operator     string `json:"operator"`
	State        string `json:"state"`
	Partition    *int   `json:"partition,omitempty"` // absent in the control subject
}

func (e Epoch) origin(partition int) origin {
	o := origin{Name: e.Source, Job: e.Snapshot.Job, CheckpointID: e.Snapshot.CheckpointID, Operator: e.Operator, State: e.State}
	if partition != controlLane {
		o.Partition = &partition
	}
	return o
}

type beginLine struct {
	Op         string       `json:"op"`
	Epoch      uint64       `json:"epoch"`
	Attempt    string       `json:"attempt"`
	Kind       string       `json:"kind"`
	Base       *SnapshotRef `json:"base"`
	Snapshot   SnapshotRef  `json:"snapshot"`
	Columns    []Column     `json:"columns"`
	Partitions int          `json:"partitions"`
	Source     origin       `json:"source"`
	TsMs       int64        `json:"ts_ms"`
}

// commitLine carries the record too, but for LastSeq, which is its own sequence in the control subject: who finds it there can finish what its publisher began.
type commitLine struct {
	Op         string `json:"op"`
	Epoch      uint64 `json:"epoch"`
	Attempt    string `json:"attempt"`
	Kind       string `json:"kind"`
	Counts     Counts `json:"counts"` // of this partition; in the control subject of all
	Total      Counts `json:"total"`
	Partitions int    `json:"partitions"`
	Source     origin `json:"source"`
	TsMs       int64  `json:"ts_ms"`
	Record     Epoch  `json:"record"`
}

func (e Epoch) begin(partition int) ([]byte, error) {
	return marshalLine(beginLine{
		"begin", e.Number, e.Attempt, e.kind(), e.Base, e.Snapshot, e.Columns, e.Partitions, e.origin(partition), e.Time.UnixMilli(),
	})
}

func (e Epoch) commit(partition int) ([]byte, error) {
	counts := e.Counts
	if partition != controlLane {
		counts = e.Shares[partition]
	}
	return marshalLine(commitLine{
		"commit", e.Number, e.Attempt, e.kind(), counts, e.Counts, e.Partitions, e.origin(partition), e.Time.UnixMilli(), e,
	})
}

// abortLine says that the attempt is over and nobody is to apply it.
type abortLine struct {
	Op         string `json:"op"`
	Epoch      uint64 `json:"epoch"`
	Attempt    string `json:"attempt"`
	Partitions int    `json:"partitions"`
	Source     origin `json:"source"`
	TsMs       int64  `json:"ts_ms"`
}

func (e Epoch) abort(partition int) ([]byte, error) {
	return marshalLine(abortLine{"abort", e.Number, e.Attempt, e.Partitions, e.origin(partition), e.Time.UnixMilli()})
}

func marshalLine(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

// recordOf reads the record out of the control subject's commit line, stored at seq.
func recordOf(line []byte, seq uint64) (Epoch, error) {
	var l struct{ Record json.RawMessage }
	if err := json.Unmarshal(line, &l); err != nil {
		return Epoch{}, fmt.Errorf("commit line at sequence %d: %w", seq, err)
	}
	var e Epoch
	if err := json.Unmarshal(l.Record, &e); err != nil {
		return Epoch{}, fmt.Errorf("commit line at sequence %d: %w", seq, err)
	}
	e.LastSeq = seq
	return e, e.check()
}

// message makes one. n numbers the bodies of changes of the attempt and partition, so that ids are unique and a repetition has the same one.
func (s *Source) message(e *Epoch, partition int, kind string, n, count uint64, body []byte) *nats.Msg {
	number, last := strconv.FormatUint(e.Number, 10), kind
	if kind == kindChanges {
		last = strconv.FormatUint(n, 10)
	}
	return &nats.Msg{
		Subject: s.subject(e.Consumer, partition),
		Header: nats.Header{
			headerID:      {Token(e.Consumer) + "/" + number + "/" + e.Attempt + "/" + laneToken(partition) + "/" + last},
			headerType:    {contentType},
			headerKind:    {kind},
			headerEpoch:   {number},
			headerAttempt: {e.Attempt},
			headerCount:   {strconv.FormatUint(count, 10)},
		},
		Data: body,
	}
}

// room is what the headers leave of a message for its body, however many digits their numbers will have.
func (s *Source) room(e *Epoch, partition int) int {
	const most = ^uint64(0)
	size := len("NATS/1.0\r\n") + len("\r\n")
	for k, v := range s.message(e, partition, kindChanges, most, most, nil).Header {
		size += len(k) + len(": ") + len(v[0]) + len("\r\n")
	}
	return s.limit - size
}

// frame is what is the same in all change lines of a partition:
//
//	{"op":"u","key":{…},"before":{…},"after":{…},"source":{"name":…,"partition":3,"seq":12},"ts_ms":1764590400000}
//	                                           └──────────── middle ─────────────┘  └─────── end ───────┘
type frame struct{ middle, end []byte }

func newFrame(e *Epoch, partition int) (frame, error) {
	b, err := json.Marshal(e.origin(partition))
	if err != nil {
		return frame{}, err
	}
	middle := append([]byte(`,"source":`), bytes.TrimSuffix(b, []byte("}"))...)
	return frame{
		middle: append(middle, `,"seq":`...),
		end:    append(strconv.AppendInt([]byte(`},"ts_ms":`), e.Time.UnixMilli(), 10), "}\n"...),
	}, nil
}

// size bounds the length of c's line.
func (f frame) size(c *Change) int {
	return len(`{"op":"u","key":,"before":null,"after":null`) + len(c.Key) + len(c.Before) + len(c.After) + len(f.middle) + 20 + len(f.end)
}

func (f frame) append(dst []byte, c *Change) []byte {
	dst = append(dst, `{"op":"`...)
	dst = append(dst, c.Op)
	dst = append(dst, `","key":`...)
	dst = append(dst, c.Key...)
	if c.Before == nil { // a row of a full epoch, mostly
		dst = append(dst, `,"before":null,"after":`...)
	} else {
		dst = append(append(dst, `,"before":`...), c.Before...)
		dst = append(dst, `,"after":`...)
	}
	return f.finish(appendOrNull(dst, c.After), c.Seq)
}

// appendObject writes the line of a change that travels as an object. It has the key too, where that leaves it small.
func (f frame) appendObject(dst []byte, c *Change, o objectRef) ([]byte, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `{"op":"`...)
	dst = append(dst, c.Op, '"')
	if len(c.Key) <= 1024 {
		dst = append(append(dst, `,"key":`...), c.Key...)
	}
	dst = append(append(dst, `,"object":`...), b...)
	return f.finish(dst, c.Seq), nil
}

func (f frame) finish(dst []byte, seq uint64) []byte {
	dst = append(dst, f.middle...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(dst, f.end...)
}

func appendOrNull(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	return append(dst, b...)
}

// check refuses what would break the framing or lack its meaning. That the JSON is sound inside is its maker's part.
func (c *Change) check(partitions int) error {
	if c.Partition < 0 || c.Partition >= partitions {
		return fmt.Errorf("change in partition %d of %d", c.Partition, partitions)
	}
	if !isObject(c.Key) || c.Before != nil && !isObject(c.Before) || c.After != nil && !isObject(c.After) {
		return errors.New("change: key, before and after are JSON objects on one line")
	}
	if (c.Op == 'd') == (c.After != nil) {
		return fmt.Errorf("change with operation %q: a row after it is wanted for r, c and u, and none for d", c.Op)
	}
	return nil
}

func isObject(b []byte) bool {
	return len(b) >= 2 && b[0] == '{' && b[len(b)-1] == '}' && bytes.IndexByte(b, '\n') < 0
}
