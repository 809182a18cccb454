package remote

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Client sends the requests of the drivers that need no library for it.
type Client struct {
	HTTP *http.Client
	// Sign adds to a request who asks. Its errors are final.
	Sign func(*http.Request) error
	// Code finds the store's own word and a message in the body of a refusal.
	Code func(body []byte) (code, message string)
}

// maxRefusal bounds what is read of an answer that is none of success, and maxPage of a page of a listing.
const (
	maxRefusal = 64 << 10
	maxPage    = 64 << 20
)

// Do sends a request. An answer with another status than 200 or 206 is a *RefusalError. The caller closes the body.
func (c *Client) Do(ctx context.Context, method string, u *url.URL, header map[string]string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, Bare(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if c.Sign != nil {
		if err := c.Sign(r); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &RefusalError{Status: http.StatusUnauthorized, Code: "no credentials", Message: Bare(err).Error()}
		}
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return nil, Bare(err)
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a cut explanation is better than none
	refusal := &RefusalError{Status: resp.StatusCode, After: After(resp.Header)}
	refusal.Code, refusal.Message = c.Code(body)
	return nil, refusal
}

// Range asks for n bytes at off, and gives how large the whole is.
func (c *Client) Range(ctx context.Context, u *url.URL, off, n int64, header map[string]string) (resp *http.Response, size int64, err error) {
	all := map[string]string{"Range": Range(off, n)}
	for name, value := range header {
		all[name] = value
	}
	if resp, err = c.Do(ctx, http.MethodGet, u, all); err != nil {
		return nil, 0, err
	}
	if size, err = Size(resp.Header, off); err != nil {
		resp.Body.Close()
		return nil, 0, err
	}
	return resp, size, nil
}

// JSON reads an answer into v.
func (c *Client) JSON(ctx context.Context, u *url.URL, v any) error {
	return c.decode(ctx, u, nil, func(r io.Reader) error { return json.NewDecoder(r).Decode(v) })
}

// XML reads an answer into v.
func (c *Client) XML(ctx context.Context, u *url.URL, header map[string]string, v any) error {
	return c.decode(ctx, u, header, func(r io.Reader) error { return xml.NewDecoder(r).Decode(v) })
}

func (c *Client) decode(ctx context.Context, u *url.URL, header map[string]string, read func(io.Reader) error) error {
	resp, err := c.Do(ctx, http.MethodGet, u, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := read(io.LimitReader(resp.Body, maxPage)); err != nil {
		return fmt.Errorf("an answer that is not understood: %w", err)
	}
	return nil
}
