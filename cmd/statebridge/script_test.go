package main

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"statebridge": main, "write-large": writeLarge})
}

// TestScript runs testdata/script: the program as a person at a shell meets it. UPDATE_SCRIPTS=1 rewrites the outputs in the scripts.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("JOB", path.Join("checkpoints", demoJob(t)))
			buckets, err := filepath.Abs("../../checkpoint/fluss/testdata")
			e.Setenv("BUCKETS", buckets)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"arrive": arrive, "exits": exits, "unpack": unpack, "until": until, "sqlite": alter, "bucket": flussBucket},
	})
}

func demoJob(t *testing.T) string {
	t.Helper()
	all, err := demodata.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	return path.Dir(all[0].Path)
}

// arrive CHECKPOINT makes the checkpoints of the demo up to this one appear in $JOB.
func arrive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: arrive CHECKPOINT")
	}
	all, err := demodata.Snapshots()
	ts.Check(err)
	for _, s := range all {
		ts.Check(s.Arrive(ts.MkAbs("checkpoints")))
		if path.Base(s.Path) == args[0] {
			return
		}
	}
	ts.Fatalf("the demo has no %s", args[0])
}

// unpack ARCHIVE DIRECTORY lays out snapshots of checkpoint/fixture.
func unpack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unpack ARCHIVE DIRECTORY")
	}
	ts.Check(fixture.Extract(args[0], ts.MkAbs(args[1])))
}

// until REGEXP COMMAND ARG… runs a command again and again until it prints what matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND ARG…")
	}
	wanted := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err := ts.Exec(args[1], args[2:]...); err == nil && wanted.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("never printed %s", args[0])
}

// alter runs sqlite FILE STATEMENT, which changes a database behind everybody's back.
func alter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
}

// bucket NAME DIRECTORY lays out the snapshots of a bucket of Fluss.
func flussBucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bucket NAME DIRECTORY")
	}
	ts.Check(fixture.ExtractZip(filepath.Join(ts.Getenv("BUCKETS"), args[0]+".zip"), ts.MkAbs(args[1])))
}

// exits CODE COMMAND ARG… runs a command that must end with this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
