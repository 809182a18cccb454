package feed

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/registry"
)

// Answer is one that was given before the question came up. It holds until the feed has published what was there when it began.
type Answer struct {
	Answer     string // registry.Accept or registry.Keep
	Checkpoint int64  // at which the question must come up; 0: any
}

// HeldError says that nothing is published for a consumer until somebody has answered its question.
type HeldError struct{ registry.Question }

func (e *HeldError) Error() string {
	text := fmt.Sprintf("held at checkpoint %d: %s", e.Newest, e.Text)
	if e.Answer == registry.Accept {
		return text + " (accepted, but no snapshot is left to publish)"
	}
	return text + fmt.Sprintf(" (to delete these rows: statebridge consumers accept %[1]s; to keep them: statebridge consumers keep %[1]s)", e.Consumer)
}

// accepted says whether the rows that the question is about may go.
func (f *Feed) accepted(kind string) bool {
	return f.question != nil && f.question.Answer == registry.Accept && f.question.Kind == kind
}

// waits says whether the question keeps the snapshots seen so far from being published.
func (f *Feed) waits() bool { return f.question != nil && f.question.Answer != registry.Accept }

// readQuestion looks for the question, which another process may have asked, and for its answer.
func (f *Feed) readQuestion(ctx context.Context) error {
	q, ok, err := f.registry.Question(ctx, f.consumer.Name)
	f.question = nil
	if ok {
		f.question = &q
	}
	return err
}

// ask stops the consumer at a snapshot. Newer ones are looked at as they come; one that needs no answer ends the question.
func (f *Feed) ask(ctx context.Context, found checkpoint.Found, why registry.Question) error {
	f.seen = found
	known := f.question != nil && f.question.Kind == why.Kind
	q := registry.Question{}
	if f.question != nil {
		q = *f.question
	}
	if !known {
		q.CheckpointID, q.Job, q.Time, q.Answer = found.ID, found.Job, time.Now().UTC(), ""
	}
	q.Consumer, q.Kind, q.Text = f.consumer.Name, why.Kind, why.Text
	q.Newest, q.Deletes, q.Rows = found.ID, why.Deletes, why.Rows
	if q.Answer == "" {
		q.Answer = f.given(ctx, q)
	}
	level := slog.LevelInfo
	if !known && q.Answer == "" {
		level = slog.LevelError
	}
	f.log.Log(ctx, level, "consumer is held: nothing is published before somebody has run `statebridge consumers accept` or `keep`", "reason", q.Text, "question", q.Kind,
		"checkpoint_id", found.ID, "since_checkpoint_id", q.CheckpointID, "deletes", q.Deletes, "rows", q.Rows, "answer", q.Answer)
	return f.registry.Ask(ctx, q)
}

// given is the answer that the feed was started with, if it fits.
func (f *Feed) given(ctx context.Context, q registry.Question) string {
	a := f.options.Answer
	switch {
	case a == nil:
		return ""
	case a.Checkpoint != 0 && a.Checkpoint != q.CheckpointID && a.Checkpoint != q.Newest:
		f.log.WarnContext(ctx, "the answer is for another checkpoint", "answer", a.Answer, "for_checkpoint_id", a.Checkpoint, "checkpoint_id", q.CheckpointID)
		return ""
	}
	return a.Answer
}

// settle forgets the question once a snapshot is published that it was about, or a newer one.
func (f *Feed) settle(ctx context.Context, pin *checkpoint.Pin) error {
	if f.question == nil || pin == f.base && !f.asked(pin.Found) { // the latter was for a sink's sake
		return nil
	}
	f.log.WarnContext(ctx, "consumer is no longer held", "question", f.question.Kind, "answer", f.question.Answer, "checkpoint_id", pin.ID)
	f.question, f.seen = nil, checkpoint.Found{}
	return f.registry.ClearQuestion(ctx, f.consumer.Name)
}

// asked says whether the question came up, by this feed's own looking, at a snapshot.
func (f *Feed) asked(found checkpoint.Found) bool {
	return f.seen.Location == found.Location && f.seen.ID == found.ID && f.seen.Job == found.Job
}

// unseen leaves out the snapshots that have been looked at and can't be published without an answer.
func (f *Feed) unseen(found []checkpoint.Found) []checkpoint.Found {
	if i := slices.IndexFunc(found, f.asked); i >= 0 {
		return found[i+1:]
	}
	return slices.DeleteFunc(found, func(s checkpoint.Found) bool { return s.Job == f.seen.Job && s.ID <= f.seen.ID })
}
