package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/statebridge/statebridge/e2e"
)

// bridge is a bridge and what a service manager does for it.
type bridge struct {
	*ledger
	name    string
	config  *e2e.Bridge
	process *e2e.Process
	down    bool // on purpose
	ended   time.Time
	starts  int
	said    int // bytes of log before the last start
}

func newBridge(l *ledger, name, bin, dir, config string) *bridge {
	return &bridge{ledger: l, name: name, config: e2e.NewBridge(l.t, bin, dir, config)}
}

func (b *bridge) start() {
	b.down, b.ended, b.said = false, time.Time{}, len(b.log())
	b.process = b.config.Start()
	b.starts++
}

func (b *bridge) kill() {
	b.down = true
	b.process.Kill()
}

func (b *bridge) freeze() { b.process.Signal(syscall.SIGSTOP) }
func (b *bridge) wake()   { b.process.Signal(syscall.SIGCONT) }

// tend starts the bridge again a second after it has ended by itself, which it may if what it needs to start is not there.
func (b *bridge) tend() {
	code, ended := b.process.Ended()
	switch {
	case b.down || !ended:
	case b.ended.IsZero():
		b.ended = time.Now()
		if code != 1 || bytes.Contains(b.log()[b.said:], []byte("msg=following")) {
			b.differ("%s ended by itself with exit code %d", b.name, code)
		}
	case time.Since(b.ended) > time.Second:
		b.start()
	}
}

var crash = regexp.MustCompile(`(?m)^(panic:|fatal error:|runtime error:|goroutine [0-9]+ \[|unexpected fault address|WARNING: DATA RACE).*$`)

func (b *bridge) log() []byte {
	b.t.Helper()
	said, err := os.ReadFile(b.config.Log())
	if err != nil {
		b.t.Fatal(err)
	}
	return said
}

// end stops the bridge as a service manager does and looks through all that it has ever said.
func (b *bridge) end(secrets []string) {
	b.process.Stop()
	said := b.log()
	if line := crash.Find(said); line != nil {
		b.differ("%s crashed: %s", b.name, line)
	}
	for i, secret := range secrets {
		if bytes.Contains(said, []byte(secret)) {
			b.differ("the log of %s has the password of server %d", b.name, i)
		}
	}
	b.note("%s was started %d times", b.name, b.starts)
}

// saveLog copies the log to where it can be looked at after the test.
func (b *bridge) saveLog(dir string) {
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(b.name, " ", "-")+".log"), b.log(), 0o644); err != nil {
		b.t.Errorf("save the log of %s: %v", b.name, err)
	}
}
