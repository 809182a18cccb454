package faults

import (
	"io"
	"net"
	"sync"
)

// A Proxy hands connections on to a server, unless it is told to cut, stall or refuse them.
type Proxy struct {
	Addr   string
	target string
	listen net.Listener
	done   sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]bool
	refuses bool
	stalled chan struct{} // nil: not; closed when bytes flow again
	cut     *cut          // nil: none is due
}

type link struct{ client, server net.Conn }

// A cut is due once so many bytes more have gone one way.
type cut struct {
	back  bool // from the server
	after uint64
}

// NewProxy listens on a loopback port for connections to target.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listen: l, links: map[*link]bool{}}
	p.done.Go(p.accept)
	return p, nil
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client, server}
	p.mu.Lock()
	refused := p.refuses
	if !refused {
		p.links[l] = true
	}
	p.mu.Unlock()
	if refused {
		l.reset()
		return
	}
	p.done.Go(func() { p.pump(l, server, client, false) })
	p.pump(l, client, server, true)
}

// pump copies one direction until either side ends.
func (p *Proxy) pump(l *link, to io.Writer, from io.Reader, back bool) {
	defer p.drop(l)
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		p.flow()
		n, due := p.spend(n, back)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if due {
			p.Cut()
		}
		if err != nil || due {
			return
		}
	}
}

// flow waits while the proxy is stalled.
func (p *Proxy) flow() {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
}

// spend counts bytes against the cut that is due, and says how many may still go.
func (p *Proxy) spend(n int, back bool) (allowed int, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c := p.cut; {
	case c == nil || c.back != back:
		return n, false
	case uint64(n) < c.after:
		c.after -= uint64(n)
		return n, false
	default:
		p.cut = nil
		return int(c.after), true
	}
}

func (p *Proxy) drop(l *link) {
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	l.client.Close()
	l.server.Close()
}

// Cut resets all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = nil
	for l := range p.links {
		l.reset()
	}
}

// CutAfter resets all connections after so many bytes more from the server, or to it.
func (p *Proxy) CutAfter(n uint64, back bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = &cut{back, n}
}

// Stall lets nothing pass until it is called with false.
func (p *Proxy) Stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on == (p.stalled != nil) {
		return
	}
	if on {
		p.stalled = make(chan struct{})
		return
	}
	close(p.stalled)
	p.stalled = nil
}

// Refuse cuts all connections and resets new ones, until it is called with false.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	p.refuses = on
	p.mu.Unlock()
	if on {
		p.Cut()
	}
}

// Close ends all connections and waits for that.
func (p *Proxy) Close() {
	p.Stall(false)
	p.listen.Close()
	p.Refuse(true)
	p.done.Wait()
}

func (l *link) reset() {
	reset(l.client)
	reset(l.server)
}

// reset ends a connection as a crash would: what is on its way is lost.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}
