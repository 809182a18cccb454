package remote

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxIdle keeps the connections of a burst of requests for the next one. There are never more than requests under way.
const maxIdle = 1024

// Transport makes the connections of all drivers. ca names a PEM file of further certificates that a server's may chain to; "" is none.
func Transport(ca string) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: maxIdle,
		DisableCompression:  true, // ranges are of the bytes as they are stored
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("storage.ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("storage.ca: %s holds no certificate in PEM", ca)
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}

// Range is the value of the header that asks for n bytes at off.
func Range(off, n int64) string { return fmt.Sprintf("bytes=%d-%d", off, off+n-1) }

// Size reads off the answer to a ranged request how large the whole is, and makes sure that it starts at off.
func Size(h http.Header, off int64) (int64, error) {
	text := h.Get("Content-Range")
	if text == "" { // a server that knows no ranges sends the whole
		n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
		if err != nil || off != 0 {
			return 0, fmt.Errorf("the answer to a request for a range tells none")
		}
		return n, nil
	}
	span, total, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, _ := strings.Cut(span, "-")
	start, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	if err1 != nil || err2 != nil || start != off || size < 0 {
		return 0, fmt.Errorf("content range %q in the answer to a request for offset %d", text, off)
	}
	return size, nil
}

// After reads the header by which a server asks to wait: seconds, as dates are not used by the stores.
func After(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Second
}
