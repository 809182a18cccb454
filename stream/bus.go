package stream

import (
	"context"
	"log/slog"
)

// Bus is a connection to JetStream, with the embedded server when there is one.
type Bus struct {
}

// Connect connects to the server at o.URL, or starts the embedded one on o.Dir. A directory that another process holds gives ErrInUse.
func Connect(ctx context.Context, o Options, log *slog.Logger) (*Bus, error) {
	panic("not yet")
}

// Close ends the connection and stops the embedded server. It waits for both.
func (b *Bus) Close() { panic("not yet") }

// Embedded says whether the server lives in this process.
func (b *Bus) Embedded() bool { panic("not yet") }

// Closed is closed once the connection is gone for good, so that a process never lives on with a dead link.
func (b *Bus) Closed() <-chan struct{} { panic("not yet") }

// Source gives the source of that name. It creates the stream and buckets that are absent, and refuses, with ErrLossy, those that may drop.
func (b *Bus) Source(ctx context.Context, name string) (*Source, error) { panic("not yet") }
