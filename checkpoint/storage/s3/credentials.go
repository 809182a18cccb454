package s3

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
)

// chain asks for credentials where Amazon's own tools look for them: the environment, the shared files (profiles, SSO, processes), then what the
// platform gives: web identity, container, instance. Without any, requests are anonymous, which public buckets allow.
type chain struct {
	sources []source

	mu      sync.Mutex
	current credentials.Provider
	none    error     // why there are none
	asked   time.Time // when that was found
}

type source struct {
	name string
	credentials.Provider
}

// askAgain is how long an answer of none is taken for true; asking where there is no instance takes a second.
const askAgain = time.Minute

func newChain(t http.RoundTripper) *chain {
	c := &chain{sources: []source{{"environment", &credentials.EnvAWS{}}, {"shared files", &credentials.FileAWSCredentials{}}}}
	switch {
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		c.sources = append(c.sources, source{"web identity", &credentials.IAM{Client: &http.Client{Transport: t, Timeout: 30 * time.Second}}})
	case os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		c.sources = append(c.sources, source{"container", &credentials.IAM{Client: near()}})
	case os.Getenv("AWS_EC2_METADATA_DISABLED") != "true":
		c.sources = append(c.sources, source{"instance", &credentials.IAM{Client: near(), Endpoint: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")}})
	}
	return c
}

// near is for the addresses of the platform, which answer at once or are not there.
func near() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}}
}

func (c *chain) credentials() *credentials.Credentials { return credentials.New(c) }

// RetrieveWithCredContext takes the first that has some. A source that is meant to have some and fails is an error once no other has any.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var why []string
	for _, s := range c.sources {
		v, err := s.RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			c.current, c.none = s.Provider, nil
			return v, nil
		}
		if err != nil {
			why = append(why, fmt.Sprintf("%s: %v", s.name, remote.Bare(err)))
		}
	}
	c.current, c.none, c.asked = nil, errors.New(strings.Join(append(why, "none found"), ", ")), time.Now()
	return credentials.Value{SignerType: credentials.SignatureAnonymous}, nil
}

// Retrieve is RetrieveWithCredContext of old.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired asks for new ones in time.
func (c *chain) IsExpired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		return c.current.IsExpired()
	}
	return time.Since(c.asked) > askAgain
}

// missing says why there are no credentials; nil if there are.
func (c *chain) missing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.none
}
