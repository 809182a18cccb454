package stream

import "context"

// Publisher writes the epochs of one consumer.
type Publisher struct {
}

// Last is the newest published epoch, the base of the next one.
func (p *Publisher) Last() (Epoch, bool) { panic("not yet") }

// Begin opens the next epoch; of e it reads Full, Resync, Base, Snapshot, Columns, Partitions, Operator and State. Without a last epoch it must be full.
// An epoch that was begun and not committed, by whomever, is superseded. ErrFenced: somebody else has published meanwhile; open the publisher again.
func (p *Publisher) Begin(ctx context.Context, e Epoch) (*Writer, error) { panic("not yet") }

// Writer writes one epoch.
type Writer struct {
}

// Append adds a change; c.Seq is set here and the bytes of c are copied. Several goroutines may append at once, one to each partition if order matters.
func (w *Writer) Append(ctx context.Context, c Change) error { panic("not yet") }

// Commit waits until the server holds every change, then makes them an epoch. After an error the epoch may be published all the same: open the publisher again to know.
func (w *Writer) Commit(ctx context.Context) (Epoch, error) { panic("not yet") }

// Abort gives the attempt up. It is harmless after Commit.
func (w *Writer) Abort() { panic("not yet") }
