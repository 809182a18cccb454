package main

import (
	"context"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sqlite"
)

// openSink opens the one target that the config names.
func openSink(ctx context.Context, c config.Sink) (sinks.Sink, error) {
	switch {
	case c.Postgres != nil:
		return postgres.Open(ctx, string(c.Postgres.URL), postgres.Options{Schema: c.Postgres.Schema})
	default:
		return sqlite.Open(ctx, c.SQLite.Path)
	}
}
