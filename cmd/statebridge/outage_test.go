package main

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
)

// lockedBuffer takes what a program says while someone reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// outageRun is a run over a store that a proxy can take away, and an eye on its table, which must always be that of some checkpoint.
type outageRun struct {
	t        *testing.T
	said     lockedBuffer
	table    string
	expected [][]string // by checkpoint, from 1 on
}

func (r *outageRun) rows() []string {
	if !r.created() {
		return nil
	}
	rows := sqliteRows(r.t, r.table)
	if len(rows) > 0 && !slices.ContainsFunc(r.expected, func(e []string) bool { return slices.Equal(e, rows) }) {
		r.t.Errorf("the table has %d rows that are those of no checkpoint", len(rows))
	}
	return rows
}

// created says whether there is a table yet.
func (r *outageRun) created() (there bool) {
	if _, err := os.Stat(r.table); err != nil {
		return false
	}
	db, err := sql.Open("sqlite", r.table)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	err = db.QueryRowContext(r.t.Context(), `SELECT count(*) > 0 FROM sqlite_master WHERE name = 'accounts'`).Scan(&there)
	return err == nil && there
}

// until waits, with an eye on the table.
func (r *outageRun) until(what string, done func(rows []string) bool) {
	r.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !done(r.rows()); time.Sleep(50 * time.Millisecond) {
		if r.t.Failed() || time.Now().After(deadline) {
			r.t.Fatalf("%s: not so. It said: %s", what, r.said.String())
		}
	}
}

func (r *outageRun) stands(n int) func([]string) bool {
	return func(rows []string) bool { return slices.Equal(rows, r.expected[n]) }
}

// TestS3Outage: while the store is gone, before a step or in the middle of one, or is asked too much, the table stays that of the last
// checkpoint, run says that the store does not answer, and goes on by itself once it does.
func TestS3Outage(t *testing.T) {
	server, dir := storagetest.StartS3(t, bucket), t.TempDir()
	proxy := storagetest.StartFaults(t, server.URL)
	login(t, proxy.URL)
	t.Setenv("STATEBRIDGE_SOURCE_FLINK_POLL", "100ms")
	file, cp := writeMirror(t, dir, "s3://flink/cp"), filepath.Join(dir, "cp")
	r := &outageRun{t: t, table: filepath.Join(dir, "bank.db"), expected: make([][]string, 1)}
	upload := func(n int) {
		at := uploadDemo(t, server, cp, n)
		r.expected = append(r.expected, expected(t, filepath.Join(cp, at)))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		if code := run(ctx, []string{"run", "--config", file}, strings.NewReader(""), &r.said, &r.said); code != 0 {
			t.Errorf("run ended with %d: %s", code, r.said.String())
		}
	})
	upload(1)
	r.until("the first checkpoint is there", r.stands(1))
	gone := func(int) http.HandlerFunc { return storagetest.Cut }
	broken := func(n int) http.HandlerFunc {
		if n <= 6 { // the listing, _metadata, and the first of the files
			return nil
		}
		return storagetest.Status(http.StatusServiceUnavailable)
	}
	for i, outage := range []func(int) http.HandlerFunc{gone, broken} {
		before, n := strings.Count(r.said.String(), "the storage does not answer"), i+2
		proxy.Outage(outage)
		upload(n)
		r.until("run says that the store does not answer", func(rows []string) bool {
			if !slices.Equal(rows, r.expected[n-1]) {
				t.Errorf("outage %d: the table is not that of the checkpoint before", i)
			}
			return strings.Count(r.said.String(), "the storage does not answer") > before
		})
		proxy.Outage(nil)
		r.until("the checkpoint that came in the outage is there", r.stands(n))
	}
	refused := throttle(proxy, 3, 100*time.Millisecond)
	upload(4)
	if r.until("a checkpoint comes through though the store is asked too much", r.stands(4)); refused() == 0 {
		t.Error("the store was never asked too much")
	}
}

// throttle makes a store of the proxy that serves so many requests in each period, and says how many others it has refused.
func throttle(proxy *storagetest.Faults, most int, period time.Duration) (refused func() int) {
	var mu sync.Mutex
	var begin time.Time
	served, others := 0, 0
	proxy.Outage(func(int) http.HandlerFunc {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(begin) >= period {
			begin, served = now, 0
		}
		if served++; served <= most {
			return nil
		}
		others++
		return storagetest.Status(http.StatusServiceUnavailable)
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return others
	}
}
