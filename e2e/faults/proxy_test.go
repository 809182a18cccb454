package faults

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo is a proxy to a server that sends back what it gets.
func echo(t *testing.T) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	p, err := NewProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// says sends a text and checks that it comes back.
func says(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("%q, %v; want %q", got, err, text)
	}
}

func TestProxyCutsAtTheByte(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	says(t, c, "hello")
	p.CutAfter(3, true)
	if _, err := io.WriteString(c, "world"); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(c) // a reset may swallow what came before it
	if !bytes.HasPrefix([]byte("wor"), got) {
		t.Errorf("%q came through, want no more than %q", got, "wor")
	}
	says(t, dial(t, p), "once more")
}

func TestProxyStalls(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	says(t, c, "hello")
	p.Stall(true)
	if _, err := io.WriteString(c, "world"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 5)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v; want none", n, err)
	}
	p.Stall(false)
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "world" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestProxyRefuses(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	says(t, c, "hello")
	p.Refuse(true)
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes over a connection that was cut", n)
	}
	if c, err := net.Dial("tcp", p.Addr); err == nil { // the reset may come so early that there is no connection at all
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes from a connection that was refused", n)
		}
	}
	p.Refuse(false)
	says(t, dial(t, p), "hello again")
}
