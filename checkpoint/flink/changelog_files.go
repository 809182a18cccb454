package flink

import (
	"context"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// metaGroup is the key group of metadata.
const metaGroup = -1

// logged is one change as it stands in the log. Its bytes are valid until the next.
type logged struct {
	keyGroup int // or metaGroup
	data     []byte
	file     string
	off      int64 // of data in file, or of the compressed chunk that holds it
}

// logWalk shows a log's changes in their order: handle by handle, change set by change set. Inside a set metadata comes first, and the changes of a key group
// keep their order; those of different key groups have none.
type logWalk struct {
	log      *Changelog
	ctx      context.Context
	groups   KeyGroupRange // whose changes are shown
	metaOnly bool          // no changes are
	visit    func(c logged) (more bool, err error)

	file changeFile
}

var errStop = errors.New("enough")

func (w *logWalk) run() (err error) {
	defer func() {
		if errors.Is(err, errStop) && w.file.window != nil {
			w.file.lend() // the change that was shown last may still be looked at
		}
		err = errors.Join(err, w.file.close())
	}()
	for i, d := range w.log.handle.Deltas {
		switch h := d.(type) {
		case *ChangelogBytesHandle:
			err = w.inline(h)
		case *ChangelogFilesHandle:
			err = w.files(i, h)
		default:
			err = fault.Unsupported("", -1, "%T among the changes of a changelog", d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wants says whether changes of a key group are shown. A log that came from a job of another parallelism holds foreign ones: of those that
// its own handle leaves out, another subtask's handle has the newer changes.
func (w *logWalk) wants(keyGroup int, of KeyGroupRange) bool {
	return keyGroup == metaGroup || !w.metaOnly && w.groups.Contains(keyGroup) && of.Contains(keyGroup) && w.log.handle.Range.Contains(keyGroup)
}

func (w *logWalk) show(c logged) error {
	more, err := w.visit(c)
	if err == nil && !more {
		err = errStop
	}
	return err
}

func (w *logWalk) checkGroup(file string, off int64, keyGroup int) error {
	if keyGroup < metaGroup || keyGroup >= w.log.maxParallelism {
		return fault.Corrupt(file, off, "change of key group %d, there are %d", keyGroup, w.log.maxParallelism)
	}
	return nil
}

// inline walks changes that stand in the _metadata itself.
func (w *logWalk) inline(h *ChangelogBytesHandle) error {
	name := fmt.Sprintf("changes %d to %d in _metadata", h.From, h.To)
	for _, e := range h.Changes {
		if err := w.checkGroup(name, 0, e.KeyGroup); err != nil {
			return err
		}
		if !w.wants(e.KeyGroup, h.Range) {
			continue
		}
		if err := w.show(logged{e.KeyGroup, e.Data, name, 0}); err != nil {
			return err
		}
	}
	return nil
}

func (w *logWalk) files(index int, h *ChangelogFilesHandle) error {
	if h.Storage != "filesystem" {
		return fault.Unsupported("", -1, "changelog storage %q", h.Storage)
	}
	for i, f := range h.Files {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.file.seek(w.ctx, w.log.open, f); err != nil {
			return err
		}
		id := setID{index, i}
		if known := w.log.places.find(id); known != nil && !w.metaOnly {
			if err := w.knownSet(known, h.Range); err != nil {
				return err
			}
		} else if err := w.set(id, h.Range); err != nil {
			return err
		}
	}
	return nil
}

// knownSet walks the wanted key groups of a set.
func (w *logWalk) knownSet(groups []groupPlace, of KeyGroupRange) error {
	for _, g := range groups {
		if !w.wants(g.keyGroup, of) {
			continue
		}
		if w.file.decoded() != g.off {
			w.file.openWindow(g.off)
		}
		if err := w.group(g.n, g.keyGroup, true); err != nil {
			return err
		}
	}
	return nil
}

// set walks the change set at the present place of the file.
func (w *logWalk) set(id setID, of KeyGroupRange) error {
	groups := 0
	var seen []groupPlace
	if err := w.file.next(w.ctx, func(r *javaio.Reader) { groups = count(r) }); err != nil {
		return err
	}
	for i := range groups {
		n, keyGroup, off := 0, 0, w.file.fileOffset()
		if err := w.file.next(w.ctx, func(r *javaio.Reader) { n, keyGroup = count(r), int(r.Int32()) }); err != nil {
			return err
		}
		if err := w.checkGroup(w.file.name, off, keyGroup); err != nil {
			return err
		}
		if keyGroup == metaGroup && i > 0 {
			return fault.Corrupt(w.file.name, off, "metadata behind changes")
		}
		if w.metaOnly && keyGroup != metaGroup {
			return nil
		}
		seen = append(seen, groupPlace{keyGroup, n, w.file.decoded()})
		if err := w.group(n, keyGroup, w.wants(keyGroup, of)); err != nil {
			return err
		}
	}
	if err := w.file.checkEnd(); err != nil || w.file.zip {
		return err
	}
	w.log.places.keep(id, seen)
	return nil
}

// group walks the n changes of a key group.
func (w *logWalk) group(n, keyGroup int, wanted bool) error {
	for range n {
		c := logged{keyGroup: keyGroup, file: w.file.name}
		err := w.file.next(w.ctx, func(r *javaio.Reader) {
			n := count(r)
			c.off, c.data = r.Offset(), r.Take(n)
		})
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if err := w.show(c); err != nil {
			return err
		}
	}
	return nil
}

// changeFile is the file of change sets that was opened last. Sets mostly follow one another in one.
type changeFile struct {
	handle *StreamHandle
	file   storage.File
	name   string
	zip    bool
	begin  int64 // the decoded offset at which the window was opened
	*window
}

// flagSize is what stands before the change sets.
const flagSize = 1

// seek goes to a change set.
func (c *changeFile) seek(ctx context.Context, open Opener, f ChangelogFile) error {
	if c.file == nil || *c.place() != *placeOf(f.Stream) {
		if err := c.openFile(ctx, open, f.Stream); err != nil {
			return err
		}
	}
	c.handle = f.Stream
	if here := c.decoded(); c.window == nil || here > f.Offset || !c.zip && here != f.Offset {
		c.openWindow(f.Offset)
	}
	return c.discard(ctx, f.Offset-c.decoded())
}

// place tells files apart.
type place struct {
	kind StreamKind
	path string
	data *byte
}

func placeOf(h *StreamHandle) *place {
	p := &place{kind: h.Kind, path: h.Path}
	if len(h.Inline) > 0 {
		p.data = &h.Inline[0]
	}
	return p
}

func (c *changeFile) place() *place { return placeOf(c.handle) }

func (c *changeFile) openFile(ctx context.Context, open Opener, h *StreamHandle) error {
	if err := c.close(); err != nil {
		return err
	}
	if h.Kind == Segment || h.Kind == EmptySegment {
		return fault.Unsupported(h.Path, -1, "changes in a %s", h.Kind)
	}
	f, err := open(ctx, h)
	if err != nil {
		return err
	}
	c.handle, c.file, c.name = h, f, f.Name()
	if f.Size() < flagSize {
		return &fault.CorruptError{File: c.name, Truncated: true, Reason: "empty file of changes"}
	}
	var flag [flagSize]byte
	if err := f.ReadAt(ctx, flag[:], 0); err != nil {
		return err
	}
	if c.zip = flag[0] == 1; flag[0] > 1 {
		return fault.Corrupt(c.name, 0, "file of changes starts with %d", flag[0])
	}
	return nil
}

// openWindow starts reading at a decoded offset, of compressed files at the first one.
func (c *changeFile) openWindow(off int64) {
	if c.window != nil {
		c.free()
	}
	if c.zip {
		c.begin, c.window = 0, newWindow(newFrames(c.file, flagSize, c.file.Size(), false), c.name)
		return
	}
	c.begin, c.window = off, newWindow(newPlain(c.file, position{at: flagSize + off}, c.file.Size()), c.name)
}

// decoded is the decoded offset of the next byte.
func (c *changeFile) decoded() int64 {
	if c.window == nil {
		return 0
	}
	return c.begin + c.logical + int64(c.start)
}

// discard steps over n decoded bytes, a piece at a time.
func (c *changeFile) discard(ctx context.Context, n int64) error {
	for n > 0 {
		step := int(min(n, maxPiece))
		if err := c.skip(ctx, step); err != nil {
			return err
		}
		n -= int64(step)
	}
	return nil
}

// checkEnd holds the end of a set against the decoded size that the handle tells.
func (c *changeFile) checkEnd() error {
	if at := c.decoded(); at > c.handle.Size && c.handle.Kind != Bytes {
		return fault.Corrupt(c.name, c.fileOffset(), "change set that ends at %d of %d", at, c.handle.Size)
	}
	return nil
}

func (c *changeFile) close() error {
	if c.window != nil {
		c.free()
		c.window = nil
	}
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}
