package storagetest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// Faults is a proxy before a server, which spoils what it is told to.
type Faults struct {
	URL  string
	pass http.Handler

	mu       sync.Mutex
	next     []http.HandlerFunc // for the requests to come; nil lets one through
	match    func(*http.Request) bool
	requests int
	outage   func(n int) http.HandlerFunc
	asked    int // since the outage began
}

// StartFaults starts a proxy before the server at target.
func StartFaults(t testing.TB, target string) *Faults {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	f := &Faults{match: func(*http.Request) bool { return true }}
	f.pass = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // which is signed
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spoil := f.take(r); spoil != nil {
			spoil(w, r)
			return
		}
		f.pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	f.URL = s.URL
	return f
}

// Next spoils the requests to come for which match says yes, one each, and forgets what was told before.
func (f *Faults) Next(match func(*http.Request) bool, spoil ...http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.match, f.next, f.requests = match, spoil, 0
}

// Outage spoils requests for as long as it lasts, which is until it is called again: of each it is asked what to do by its number, from 1
// on, and nil lets it through. A nil outage is none.
func (f *Faults) Outage(spoil func(n int) http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage, f.asked = spoil, 0
}

// Left counts the faults that no request has met yet.
func (f *Faults) Left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.next)
}

// Requests counts those since Next, of any kind.
func (f *Faults) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

func (f *Faults) take(r *http.Request) http.HandlerFunc {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if f.outage != nil {
		f.asked++
		return f.outage(f.asked)
	}
	if len(f.next) == 0 || !f.match(r) {
		return nil
	}
	spoil := f.next[0]
	f.next = f.next[1:]
	return spoil
}

// Status answers with a status and headers, as pairs.
func Status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// Cut closes the connection without an answer.
func Cut(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }

// Hang answers nothing until the client gives up.
func Hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Halve sends half of the server's answer, then closes the connection.
func (f *Faults) Halve(w http.ResponseWriter, r *http.Request) {
	whole := httptest.NewRecorder()
	f.pass.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}
