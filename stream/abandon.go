package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// abandonWithin bounds what is spent on an attempt that failed.
const abandonWithin = 5 * time.Second

// abandon takes back what an attempt has stored and says in its subjects that it is over, as far as that goes in a short while. Room on the server is won, and whoever follows the
// subjects by themselves need not wait for the next begin line. Nothing else depends on it: what stays has no record. An attempt that may have been decided is left as it is.
func (w *Writer) abandon() {
	if w.deciding || !w.src.bus.conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abandonWithin)
	defer cancel()
	err := w.takeBack(ctx)
	if err == nil {
		err = w.say(ctx)
	}
	w.src.bus.log.DebugContext(ctx, "epoch given up", "consumer", w.epoch.Consumer, "epoch", w.epoch.Number, "attempt", w.epoch.Attempt, "error", err)
}

// takeBack deletes the messages and objects of the attempt.
func (w *Writer) takeBack(ctx context.Context) error {
	for _, p := range w.late {
		select {
		case ack := <-p.future.Ok():
			if err := w.src.checkAck(ack); err != nil { // a sequence of another stream
				return err
			}
			w.written = append(w.written, ack.Sequence)
		case err := <-p.future.Err():
			w.src.bus.log.DebugContext(ctx, "a message of an epoch that is given up was not stored", "consumer", w.epoch.Consumer, "error", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, seq := range w.written {
		if err := w.src.stream.DeleteMsg(ctx, seq); err != nil {
			return fmt.Errorf("delete message %d: %w", seq, err)
		}
	}
	for i := range w.lanes {
		for _, name := range w.lanes[i].objects {
			if err := w.src.large.Delete(ctx, name); err != nil {
				return fmt.Errorf("delete object %s: %w", name, err)
			}
		}
	}
	return nil
}

// say stores the abort lines. That of the control subject is stored only if nobody has begun since.
func (w *Writer) say(ctx context.Context) error {
	var lines []*nats.Msg
	for i := range w.lanes {
		line, err := w.epoch.abort(i)
		if err != nil {
			return err
		}
		lines = append(lines, w.src.message(&w.epoch, i, kindAbort, 0, 0, line))
	}
	if err := w.src.publishAll(ctx, lines); err != nil {
		return fmt.Errorf("abort lines: %w", err)
	}
	line, err := w.epoch.abort(controlLane)
	if err != nil {
		return err
	}
	if _, err := w.src.publishAfter(ctx, w.src.message(&w.epoch, controlLane, kindAbort, 0, 0, line), w.epoch.FirstSeq); err != nil && !conflict(err) {
		return fmt.Errorf("abort line: %w", err)
	}
	return nil
}
