package render

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal; what is written to it can be read from the other end.
func terminal(t *testing.T) (tty, other *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal here: ", err)
	}
	t.Cleanup(func() { other.Close() })
	if err := unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no pseudo-terminal here: ", err)
	}
	n, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip("no pseudo-terminal here: ", err)
	}
	if err := unix.IoctlSetWinsize(int(other.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal here: ", err)
	}
	return tty, other
}

func TestProgressOnATerminal(t *testing.T) {
	for _, total := range []int64{0, 10, 100_000} {
		tty, other := terminal(t)
		var got bytes.Buffer
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = got.ReadFrom(other) // ends in an error when the terminal is closed
		}()
		p := NewProgress(tty, "reading", total)
		var g sync.WaitGroup
		for range 4 {
			g.Go(func() {
				for range 25_000 {
					p.Add(1) // more than total is no fault
				}
			})
		}
		g.Wait()
		time.Sleep(400 * time.Millisecond) // a bar is drawn some times a second
		p.Done()
		p.Add(1)
		p.Done()
		tty.Close()
		<-done
		if !strings.Contains(got.String(), "reading") {
			t.Errorf("total %d: %q", total, got.String())

		}
	}
}
