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

// answered says whether the rows that the question is about may go.
func (m *member) answered(kind string) bool {
	return m.question != nil && m.question.Answer == registry.Accept && m.question.Kind == kind
}

// waits says whether the question keeps the snapshots seen so far from being published.
func (m *member) waits() bool { return m.question != nil && m.question.Answer != registry.Accept }

func (f *Feed) waits() bool { return slices.ContainsFunc(f.members, (*member).waits) }

func (f *Feed) questioned() bool {
	return slices.ContainsFunc(f.members, func(m *member) bool { return m.question != nil })
}

// readQuestion looks for the question, which another process may have asked, and for its answer.
func (m *member) readQuestion(ctx context.Context) error {
	q, ok, err := m.feed.registry.Question(ctx, m.consumer.Name)
	m.question = nil
	if ok {
		m.question = &q
	}
	return err
}

// ask stops the feed at a snapshot. Newer ones are looked at as they come; one that needs no answer ends the questions.
func (f *Feed) ask(ctx context.Context, moves []*move) error {
	f.seen = moves[0].pin.Found
	for _, v := range moves {
		var err error
		switch {
		case v.held != nil:
			err = v.ask(ctx, f.seen, *v.held)
		case v.waits(): // no longer, but for other consumers
			err = f.registry.ClearQuestion(ctx, v.consumer.Name)
		}
		if err != nil {
			return v.wrap(err)
		}
	}
	return nil
}

func (m *member) ask(ctx context.Context, found checkpoint.Found, why registry.Question) error {
	known := m.question != nil && m.question.Kind == why.Kind
	q := registry.Question{}
	if m.question != nil {
		q = *m.question
	}
	if !known {
		q.CheckpointID, q.Job, q.Time, q.Answer = found.ID, found.Job, time.Now().UTC(), ""
	}
	q.Consumer, q.Kind, q.Text = m.consumer.Name, why.Kind, why.Text
	q.Newest, q.Deletes, q.Rows = found.ID, why.Deletes, why.Rows
	if q.Answer == "" {
		q.Answer = m.given(ctx, q)
	}
	log, level := m.log, slog.LevelInfo
	if !known && q.Answer == "" {
		level = slog.LevelError
	}
	if len(m.feed.members) > 1 {
		log = log.With("held_together", m.feed.names())
	}
	log.Log(ctx, level, "consumer is held: nothing is published before somebody has run `statebridge consumers accept` or `keep`", "reason", q.Text, "question", q.Kind,
		"checkpoint_id", found.ID, "since_checkpoint_id", q.CheckpointID, "deletes", q.Deletes, "rows", q.Rows, "answer", q.Answer)
	return m.feed.registry.Ask(ctx, q)
}

// given is the answer that came before the question, if it fits.
func (m *member) given(ctx context.Context, q registry.Question) string {
	a := m.consumer.Answer
	switch {
	case a == nil:
		return ""
	case a.Checkpoint != 0 && a.Checkpoint != q.CheckpointID && a.Checkpoint != q.Newest:
		m.log.WarnContext(ctx, "the answer is for another checkpoint", "answer", a.Answer, "for_checkpoint_id", a.Checkpoint, "checkpoint_id", q.CheckpointID)
		return ""
	}
	return a.Answer
}

// settle forgets the question once a snapshot is published that it was about, or a newer one.
func (m *member) settle(ctx context.Context, pin *checkpoint.Pin) error {
	if m.question == nil || pin == m.base && !m.feed.asked(pin.Found) { // the latter was for a sink's sake
		return nil
	}
	m.log.WarnContext(ctx, "consumer is no longer held", "question", m.question.Kind, "answer", m.question.Answer, "checkpoint_id", pin.ID)
	m.question = nil
	return m.feed.registry.ClearQuestion(ctx, m.consumer.Name)
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
