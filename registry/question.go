package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Question is why the publisher of a consumer has stopped until somebody says what its rows are to become. A publisher has one at a time.
type Question struct {
	Consumer     string    `json:"consumer"`
	Kind         string    `json:"kind"` // one of the constants below
	Text         string    `json:"text"` // the same for people
	Job          string    `json:"job,omitempty"`
	CheckpointID int64     `json:"checkpoint_id"`        // at which it came up
	Newest       int64     `json:"newest_checkpoint_id"` // that has been looked at since
	Deletes      uint64    `json:"deletes"`              // what the newest one would delete
	Rows         uint64    `json:"rows"`                 // of so many
	Time         time.Time `json:"time"`                 // when it came up
	Answer       string    `json:"answer,omitempty"`     // Accept or Keep; "" until somebody has answered

	revision uint64
}

// Kinds of questions.
const (
	ManyDeletes     = "many deletes"     // a step would take away more rows than is allowed
	StateMissing    = "state missing"    // the snapshot lacks the operator or the state
	SubtaskFinished = "subtask finished" // so that its rows are in no snapshot any more
)

// Answers.
const (
	Accept = "accept" // the rows are deleted
	Keep   = "keep"   // nothing is published until a snapshot needs no answer
)

// ErrNoQuestion says that a consumer waits for no answer, or asks something else than was answered.
var ErrNoQuestion = errors.New("no such question")

// Ask stores the question of a consumer, over the one that it was read as. One that has been answered meanwhile stays as it is.
func (r *Registry) Ask(ctx context.Context, q Question) error {
	if err := r.putQuestion(ctx, q); err != nil && !isConflict(err) {
		return fmt.Errorf("registry, question of consumer %s: %w", q.Consumer, err)
	}
	return nil
}

func (r *Registry) putQuestion(ctx context.Context, q Question) error {
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if q.revision == 0 {
		_, err = r.kv.Create(ctx, key(kindQuestion, q.Consumer), b)
	} else {
		_, err = r.kv.Update(ctx, key(kindQuestion, q.Consumer), b, q.revision)
	}
	return err
}

// Question gives the question of a consumer, answered or not, if there is any.
func (r *Registry) Question(ctx context.Context, consumer string) (Question, bool, error) {
	q, revision, err := get[Question](ctx, r, key(kindQuestion, consumer))
	q.revision = revision
	return q, revision > 0, err
}

// Answer answers the question of a consumer: the one that came up at a checkpoint, or, with 0, whatever is asked. It gives the question.
func (r *Registry) Answer(ctx context.Context, consumer string, checkpoint int64, answer string) (Question, error) {
	for {
		q, ok, err := r.Question(ctx, consumer)
		switch {
		case err != nil:
			return q, err
		case !ok:
			return q, fmt.Errorf("consumer %s waits for no answer: %w", consumer, ErrNoQuestion)
		case checkpoint != 0 && checkpoint != q.CheckpointID:
			return q, fmt.Errorf("what consumer %s asks came up at checkpoint %d, not %d: %w", consumer, q.CheckpointID, checkpoint, ErrNoQuestion)
		}
		q.Answer = answer
		err = r.putQuestion(ctx, q)
		if !isConflict(err) { // else it was asked anew at another snapshot just now
			return q, err
		}
	}
}

// ClearQuestion forgets the question of a consumer, answered or not.
func (r *Registry) ClearQuestion(ctx context.Context, consumer string) error {
	if err := r.kv.Purge(ctx, key(kindQuestion, consumer)); err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("registry, question of consumer %s: %w", consumer, err)
	}
	return nil
}
