package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// RefusalError is an answer other than success. Nothing in it is secret.
type RefusalError struct {
	Status  int           // as in HTTP
	Code    string        // the store's own word, such as NoSuchKey
	Message string        // for people
	After   time.Duration // how long the store asks to wait
	Again   bool          // worth another try, whatever the status
	Unknown bool          // the store does not accept the credentials, whatever may be done with them
}

// NoSuchBucket is the Code of a RefusalError for a bucket, rather than an object, that does not exist.
const NoSuchBucket = "NoSuchBucket"

func (r *RefusalError) Error() string {
	text := fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status))
	if r.Code != "" {
		text = fmt.Sprintf("%d %s", r.Status, r.Code)
	}
	if r.Message != "" && r.Message != r.Code {
		text += ": " + r.Message
	}
	return text
}

// again says whether err may be gone at the next try. What is not an answer is a cut connection, a timeout and the like, but for a server that does
// not exist, does not prove who it is, or speaks another protocol.
func again(err error) bool {
	var r *RefusalError
	if errors.As(err, &r) {
		return r.Again || r.Status == http.StatusRequestTimeout || r.Status == http.StatusTooManyRequests ||
			r.Status >= 500 && r.Status != http.StatusNotImplemented
	}
	var dns *net.DNSError
	var unproved *tls.CertificateVerificationError
	return !(errors.As(err, &dns) && dns.IsNotFound) && !errors.As(err, &unproved) && !errors.Is(err, http.ErrSchemeMismatch) &&
		!errors.Is(err, fault.ErrUnsupported) && !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, errReplaced)
}

// errReplaced says that the object is not the one that was opened, which exists no more.
var errReplaced = fmt.Errorf("it was replaced after it had been opened: %w", fs.ErrNotExist)

// explain makes of what went wrong with a request an error that says what to do.
func (s *Store) explain(op Op, uri string, p Place, err error) error {
	var r *RefusalError
	var unproved *tls.CertificateVerificationError
	switch {
	case errors.As(err, &r):
		return s.refused(op, uri, p, r)
	case errors.As(err, &unproved):
		return fmt.Errorf("%s: %w; name the certificates of a private CA with storage.ca", uri, Bare(err))
	case again(err):
		return fmt.Errorf("%s: %s: %w: %w", uri, op, storage.ErrUnavailable, Bare(err))
	}
	return fmt.Errorf("%s: %w", uri, Bare(err))
}

func (s *Store) refused(op Op, uri string, p Place, r *RefusalError) error {
	switch {
	case r.Code == NoSuchBucket:
		return fmt.Errorf("%s: %q does not exist, or not at this endpoint and region: %w", uri, p.Bucket, r)
	case r.Unknown:
		return fmt.Errorf("%s: %w (%w); it is the credentials that are not accepted, not their rights that are too few: check the access key, its secret and whether they have expired", uri, fs.ErrPermission, r)
	case r.Status == http.StatusNotFound:
		return fmt.Errorf("%s: there is no such object: %w", uri, fs.ErrNotExist)
	case r.Status == http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w", uri, errReplaced)
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fmt.Errorf("%s: %w (%w); to %s it takes %s", uri, fs.ErrPermission, r, op, s.api.Right(op, p))
	case r.Status == http.StatusRequestedRangeNotSatisfiable:
		return &fault.CorruptError{File: uri, Truncated: true, Reason: "the object ends before the bytes that were asked for"}
	case again(r):
		return fmt.Errorf("%s: %s: %w: %w", uri, op, storage.ErrUnavailable, r)
	}
	return fmt.Errorf("%s: %s: %w", uri, op, r)
}

// Bare takes the URL off an error of net/http: its parameters may hold a token.
func Bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
