package sinktest

import (
	"log/slog"
	"testing"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// StartBus starts an embedded NATS server that goes with the test.
func StartBus(t testing.TB) *stream.Bus {
	t.Helper()
	bus, err := stream.Connect(t.Context(), stream.Options{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	return bus
}

// OpenSource opens a source on a bus, and the registry beside it.
func OpenSource(t testing.TB, bus *stream.Bus, name string) (*stream.Source, *registry.Registry) {
	t.Helper()
	source, err := bus.Source(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return source, r
}
