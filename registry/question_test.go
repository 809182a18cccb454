package registry

import (
	"errors"
	"testing"
)

func TestQuestion(t *testing.T) {
	r, ctx := newRegistry(t), t.Context()
	if _, err := r.Answer(ctx, "a", 0, Accept); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("answered what nobody asks: %v", err)
	}
	must(t, r.Register(ctx, Consumer{Name: "a", Operator: "op", State: "st"}))
	must(t, r.Ask(ctx, Question{Consumer: "a", Kind: ManyDeletes, CheckpointID: 7, Newest: 7, Deletes: 3}))
	q, ok, err := r.Question(ctx, "a")
	if err != nil || !ok || q.CheckpointID != 7 {
		t.Fatal(q, ok, err)
	}
	if _, err := r.Answer(ctx, "a", 8, Accept); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("answered for another checkpoint: %v", err)
	}
	if _, err := r.Answer(ctx, "a", 7, Accept); err != nil {
		t.Fatal(err)
	}
	q.Newest = 9 // the publisher did not see the answer
	must(t, r.Ask(ctx, q))
	if q, _, err = r.Question(ctx, "a"); err != nil || q.Answer != Accept || q.Newest != 7 {
		t.Errorf("the answer is overwritten: %+v, %v", q, err)
	}
	q.Newest = 9
	must(t, r.Ask(ctx, q))
	if list, err := r.Consumers(ctx); err != nil || len(list) != 1 || list[0].Question == nil || list[0].Question.Newest != 9 {
		t.Errorf("%+v, %v", list, err)
	}
	must(t, r.ClearQuestion(ctx, "a"))
	if _, ok, err := r.Question(ctx, "a"); ok || err != nil {
		t.Errorf("still there: %t, %v", ok, err)
	}
	must(t, r.Ask(ctx, Question{Consumer: "a", Kind: StateMissing, CheckpointID: 9}))
	must(t, r.Remove(ctx, "a"))
	if _, ok, err := r.Question(ctx, "a"); ok || err != nil {
		t.Errorf("outlives its consumer: %t, %v", ok, err)
	}
}
