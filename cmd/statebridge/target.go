package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sqlite"
)

// openSink opens the one target that the config names.
func openSink(ctx context.Context, c config.Sink, log *slog.Logger) (sinks.Sink, error) {
	drift, bad := sinks.Drift(c.Drift), sinks.BadValue(c.BadValue)
	switch {
	case c.Postgres != nil:
		return postgres.Open(ctx, string(c.Postgres.URL), postgres.Options{Schema: c.Postgres.Schema, SchemaDrift: drift, BadValue: bad})
	case c.Redis != nil:
		t, err := tlsConfig(c.Redis.TLS)
		if err != nil {
			return nil, err
		}
		return redis.Open(ctx, string(c.Redis.URL), redis.Options{
			Key: c.Redis.Key, Encoding: redis.Encoding(c.Redis.Encoding), Publish: redis.Publish(c.Redis.Publish), Grace: c.Redis.Grace,
			TLS: t, SchemaDrift: drift, BadValue: bad, Log: log.With("sink", c.Name),
		})
	}
	return sqlite.Open(ctx, c.SQLite.Path, sqlite.Options{SchemaDrift: drift, BadValue: bad})
}

// tlsConfig reads the files that are named; nil when there are none.
func tlsConfig(c config.TLS) (*tls.Config, error) {
	if c == (config.TLS{}) {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", c.CA)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, err
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}
