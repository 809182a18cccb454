package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Writer writes one epoch. Either Commit or Abort ends it, and must be called.
type Writer struct {
	pub    *Publisher
	src    *Source
	epoch  Epoch
	lanes  []lane
	batch  int // bytes of a message that holds several changes
	acks   chan pending
	spare  chan []byte // bodies to use again
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  sync.Once
	seal   sync.Once
	failed error         // of sealing
	done   chan struct{} // closed once every acknowledgement has come, or the writer has failed

	written  []uint64  // sequences of the messages of changes; await's until done
	late     []pending // whose acknowledgement was not waited for; the same
	deciding bool      // the commit line may be stored
}

// lane is the open body of one partition.
type lane struct {
	mu      sync.Mutex
	closed  bool
	frame   frame
	room    int
	body    []byte
	lines   uint64 // in body
	n       uint64 // messages
	seq     uint64 // changes
	counts  Counts
	objects []string // names
	stored  uint64   // sequence of the last message that was acknowledged; used by await alone, and by Commit after it
}

type pending struct {
	future    jetstream.PubAckFuture
	partition int
	body      []byte
	weight    int64
}

// minWeight is what a small message counts for in the window, so that their number is bounded too.
const minWeight = 8 << 10

// firstBuffer is what the first body of a lane starts with, and grows from: with many partitions and few changes most stay small.
const firstBuffer = 16 << 10

func newWriter(ctx context.Context, p *Publisher, e Epoch) (*Writer, error) {
	o := p.src.bus.opts
	w := &Writer{
		pub: p, src: p.src, epoch: e, lanes: make([]lane, e.Partitions), done: make(chan struct{}),
		acks: make(chan pending, o.Window/minWeight+1), spare: make(chan []byte, o.Window/max(o.BatchBytes, minWeight)),
		batch: min(o.BatchBytes, max(2*o.Window/e.Partitions, minWeight)), // the open bodies of many partitions take no more than two windows either
	}
	for i := range w.lanes {
		var err error
		if w.lanes[i].frame, err = newFrame(&e, i); err != nil {
			return nil, err
		}
		w.lanes[i].room = p.src.room(&e, i)
	}
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go w.await()
	return w, nil
}

// Epoch is what is being written.
func (w *Writer) Epoch() Epoch { return w.epoch }

// Append adds a change; c.Seq is set here and the bytes of c are copied. Several goroutines may append at once; the order of those of one partition is theirs to keep.
func (w *Writer) Append(ctx context.Context, c Change) error {
	if err := c.check(len(w.lanes)); err != nil {
		return fmt.Errorf("epoch %s: %w", w.epoch, err)
	}
	l := &w.lanes[c.Partition]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("epoch %s: %w", w.epoch, ErrClosed)
	}
	if !l.counts.add(c.Op) {
		return fmt.Errorf("epoch %s: change with operation %q", w.epoch, c.Op)
	}
	l.seq++
	c.Seq = l.seq
	if err := w.add(ctx, l, &c); err != nil {
		w.cancel(err) // the change is counted and not there: this attempt can't be committed any more
		return fmt.Errorf("epoch %s, partition %d: %w", w.epoch, c.Partition, err)
	}
	return nil
}

func (w *Writer) add(ctx context.Context, l *lane, c *Change) error {
	size := l.frame.size(c)
	if len(l.body) > 0 && len(l.body)+size > min(w.batch, l.room) {
		if err := w.flush(ctx, l, c.Partition); err != nil {
			return err
		}
	}
	if size > l.room {
		return w.addLarge(ctx, l, c)
	}
	if l.body == nil {
		l.body = w.buffer(l)
	}
	l.body = l.frame.append(l.body, c)
	l.lines++
	return nil
}

// buffer gives an empty body, of full size once the lane has filled one: growing there costs as much as filling.
func (w *Writer) buffer(l *lane) []byte {
	select {
	case b := <-w.spare:
		return b[:0]
	default:
	}
	if l.n > 0 {
		return make([]byte, 0, w.batch)
	}
	return make([]byte, 0, min(firstBuffer, w.batch))
}

// addLarge puts a change that no message can hold into the object store, and a line that names it into the stream.
func (w *Writer) addLarge(ctx context.Context, l *lane, c *Change) error {
	line := l.frame.append(nil, c)
	ref := objectRef{Bucket: w.src.base() + "_large", Name: w.objectName(c), Size: int64(len(line))}
	l.objects = append(l.objects, ref.Name)
	if _, err := w.src.large.Put(ctx, jetstream.ObjectMeta{Name: ref.Name}, bytes.NewReader(line)); err != nil {
		return fmt.Errorf("object of %d bytes: %w", len(line), err)
	}
	body, err := l.frame.appendObject(w.buffer(l), c, ref)
	l.body, l.lines = body, 1
	return err
}

// objectName starts with consumer and number, by which Trim finds what it may delete.
func (w *Writer) objectName(c *Change) string {
	return strings.Join([]string{
		Token(w.epoch.Consumer), strconv.FormatUint(w.epoch.Number, 10), w.epoch.Attempt, strconv.Itoa(c.Partition), strconv.FormatUint(c.Seq, 10),
	}, "/")
}

// flush publishes the open body. It waits while the window is full.
func (w *Writer) flush(ctx context.Context, l *lane, partition int) error {
	if l.lines == 0 {
		return nil
	}
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	p := pending{partition: partition, body: l.body, weight: min(max(int64(len(l.body)), minWeight), int64(w.src.bus.opts.Window))}
	if err := w.acquire(ctx, p.weight); err != nil {
		return err
	}
	l.n++
	var err error
	if p.future, err = w.src.bus.js.PublishMsgAsync(w.src.message(&w.epoch, partition, kindChanges, l.n, l.lines, l.body)); err != nil {
		w.src.bus.window.Release(p.weight)
		return err
	}
	w.acks <- p // its capacity is that of the window
	l.body, l.lines = nil, 0
	return nil
}

// acquire waits for room in the window, for as long as both the caller and the attempt live.
func (w *Writer) acquire(ctx context.Context, weight int64) error {
	if w.src.bus.window.TryAcquire(weight) {
		return nil
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })()
	if err := w.src.bus.window.Acquire(both, weight); err != nil {
		return context.Cause(both)
	}
	return nil
}

// await takes the acknowledgements in the order of publishing. It is the writer's only goroutine.
func (w *Writer) await() {
	defer close(w.done)
	for p := range w.acks {
		select {
		case ack := <-p.future.Ok():
			w.stored(p, ack)
		case err := <-p.future.Err():
			w.cancel(fmt.Errorf("partition %d: %w", p.partition, err))
		case <-w.ctx.Done():
			w.late = append(w.late, p)
		}
		w.src.bus.window.Release(p.weight)
	}
}

func (w *Writer) stored(p pending, ack *jetstream.PubAck) {
	if err := w.src.checkAck(ack); err != nil {
		w.cancel(err)
		return
	}
	w.written = append(w.written, ack.Sequence)
	l := &w.lanes[p.partition]
	if ack.Sequence <= l.stored { // a message that was sent twice has overtaken another
		w.cancel(fmt.Errorf("partition %d: sequence %d was stored after %d", p.partition, ack.Sequence, l.stored))
		return
	}
	l.stored = ack.Sequence
	select {
	case w.spare <- p.body:
	default:
	}
}

// Commit waits until the server holds every change, then makes them an epoch. After an error the epoch may be published all the same: Begin, or a publisher opened anew, knows.
func (w *Writer) Commit(ctx context.Context) (Epoch, error) {
	err := fmt.Errorf("epoch %s: %w", w.epoch, ErrClosed)
	w.ended.Do(func() {
		if err = w.commit(ctx); err != nil {
			err = fmt.Errorf("commit of epoch %s: %w", w.epoch, err)
			w.abandon()
		}
		w.cancel(ErrClosed)
	})
	if err != nil {
		return Epoch{}, err
	}
	return w.epoch, nil
}

func (w *Writer) commit(ctx context.Context) error {
	if err := w.Seal(ctx); err != nil {
		return err
	}
	if err := w.decide(ctx); err != nil {
		return err
	}
	if err := w.src.publishCommits(ctx, w.epoch); err != nil {
		return err
	}
	won, err := w.src.createRecord(ctx, w.epoch)
	if err != nil {
		return err
	}
	if !won {
		return fmt.Errorf("the number belongs to another attempt: %w", ErrFenced)
	}
	w.pub.committed(w.epoch)
	return nil
}

// Seal waits until the server holds every change. No more can be appended then, and all that Commit has left to do is to decide; so several writers may be
// filled one after the other and committed together.
func (w *Writer) Seal(ctx context.Context) error {
	w.seal.Do(func() {
		if w.failed = w.finish(ctx); w.failed == nil {
			w.spare = nil
		}
	})
	return w.failed
}

// finish publishes what is left and waits for all acknowledgements.
func (w *Writer) finish(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })()
	err := w.close(func(l *lane, partition int) error { return w.flush(ctx, l, partition) })
	if err != nil {
		w.cancel(err)
	}
	<-w.done
	return context.Cause(w.ctx)
}

// close ends all lanes, each after last has had it, and with them the acknowledgements to come.
func (w *Writer) close(last func(l *lane, partition int) error) error {
	var faults []error
	for i := range w.lanes {
		l := &w.lanes[i]
		l.mu.Lock()
		faults = append(faults, last(l, i))
		l.closed = true
		l.mu.Unlock()
	}
	close(w.acks)
	return errors.Join(faults...)
}

// decide stores the commit line in the control subject, after which the epoch is published whatever happens.
func (w *Writer) decide(ctx context.Context) error {
	w.deciding = true
	e := &w.epoch
	for i := range w.lanes {
		e.Shares[i] = w.lanes[i].counts
		e.Counts.merge(e.Shares[i])
	}
	e.Rows, e.Time = e.rowsAfter(e.Rows), time.Now().UTC()
	line, err := e.commit(controlLane)
	if err != nil {
		return err
	}
	e.LastSeq, err = w.src.publishAfter(ctx, w.src.message(e, controlLane, kindCommit, 0, 0, line), e.FirstSeq)
	if !conflict(err) {
		return err
	}
	seq, decided, err := w.src.lastControl(ctx, e.Consumer)
	if err != nil {
		return err
	}
	if decided == nil || decided.Attempt != e.Attempt { // else it is ours, and the answer was lost
		return fmt.Errorf("another attempt has begun: %w", ErrFenced)
	}
	e.LastSeq = seq
	return nil
}

// Abort gives the attempt up, and takes back what it has stored. It is harmless after Commit.
func (w *Writer) Abort() {
	w.ended.Do(func() {
		w.end()
		w.abandon()
	})
}

// end stops the attempt and leaves it as it is.
func (w *Writer) end() {
	w.cancel(ErrClosed)
	w.seal.Do(func() {
		_ = w.close(func(*lane, int) error { return nil })
		<-w.done
	})
}
