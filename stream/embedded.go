package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// embedded is a NATS server in this process, with its directory locked.
//
// Its files are written without a sync per message: they survive the death of the process, since the operating system has them, but after a power
// failure acknowledged messages may be missing: see openGeneration.
type embedded struct {
	options Options // Listen has the port that was found
	log     *slog.Logger
	lock    *os.File
	id      string                        // generation of the store
	now     atomic.Pointer[server.Server] // another one after each cure
	door    *door                         // nil: it could not be opened
	nurse   *nurse                        // nil before the server has started
}

const storeDir = "nats"

func startEmbedded(ctx context.Context, o Options, log *slog.Logger) (_ *embedded, err error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	e := &embedded{options: o, log: log}
	if e.lock, err = lockDir(o.Dir); err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	defer func() {
		if err != nil {
			e.stop()
		}
	}()
	if e.id, err = openGeneration(o.Dir); err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	if err := e.serve(ctx); err != nil {
		return nil, err
	}
	if a := e.now.Load().Addr(); a != nil {
		e.options.Listen = a.String()
		_, _ = e.lock.WriteString(e.now.Load().ClientURL() + "\n") // tells a refused process where to connect; no more than a help
	}
	if e.door, err = openDoor(ctx, o.Dir, e); err != nil {
		log.WarnContext(ctx, "other commands can't reach the embedded server while this process runs", "error", err)
		err = nil
	}
	e.nurse = attend(ctx, e)
	return e, nil
}

// serve starts a server on the directory and waits until it takes connections.
func (e *embedded) serve(ctx context.Context) error {
	so, err := serverOptions(e.options)
	if err != nil {
		return err
	}
	s, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("embedded server: %w", err)
	}
	s.SetLoggerV2(serverLog{e.log.With("component", "nats")}, false, false, false)
	e.now.Store(s)
	s.Start()
	return awaitReady(ctx, s)
}

// InProcessConn connects to the server that runs now, for clients that outlive it.
func (e *embedded) InProcessConn() (net.Conn, error) { return e.now.Load().InProcessConn() }

func serverOptions(o Options) (*server.Options, error) {
	so := &server.Options{
		ServerName: "statebridge", StoreDir: filepath.Join(o.Dir, storeDir), JetStream: true,
		DontListen: o.Listen == "", NoSigs: true, NoLog: true, DisableJetStreamBanner: true,
		Username: o.User, Password: o.Password,
	}
	if o.Listen == "" {
		return so, nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	so.Host = host
	if so.Port, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("listen address: port %q: %w", port, err)
	}
	if so.Port == 0 {
		so.Port = server.RANDOM_PORT
	}
	return so, nil
}

// awaitReady waits until the server takes connections; recovering a large store takes its time.
func awaitReady(ctx context.Context, s *server.Server) error {
	for !s.ReadyForConnections(50 * time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("embedded server: %w", err)
		}
		if !s.Running() {
			return errors.New("embedded server: did not start, its log says why")
		}
	}
	if !s.JetStreamEnabled() {
		return errors.New("embedded server: JetStream did not start, the server's log says why")
	}
	return nil
}

func (e *embedded) stop() {
	if e.nurse != nil {
		e.nurse.leave()
	}
	if e.door != nil {
		e.door.close()
	}
	if e.now.Load() != nil {
		e.halt()
		_ = closeGeneration(e.options.Dir, e.id) // if it fails, the next start takes the careful way
	}
	unlock(e.lock)
}

// halt ends the server that runs now.
func (e *embedded) halt() {
	s := e.now.Load()
	s.Shutdown()
	s.WaitForShutdown()
}

// serverLog hands the server's log on: what it calls a notice is of interest for debugging only.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any) {
	if !strings.HasPrefix(format, "Healthcheck failed") { // the nurse asks each second, and tells by itself
		l.log.Warn(fmt.Sprintf(format, v...))
	}
}
func (l serverLog) Fatalf(format string, v ...any) { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any) { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(string, ...any)          {}
func (l serverLog) Tracef(string, ...any)          {}
