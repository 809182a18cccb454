package azure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// login is what the environment holds, under the names that Azure's own tools have for it.
type login struct {
	account, key string
	sas          url.Values // nil: none
}

func lookUp() login {
	l := login{account: os.Getenv("AZURE_STORAGE_ACCOUNT"), key: os.Getenv("AZURE_STORAGE_KEY")}
	sas := os.Getenv("AZURE_STORAGE_SAS_TOKEN")
	for part := range strings.SplitSeq(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), ";") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "AccountName":
			l.account = value
		case "AccountKey":
			l.key = value
		case "SharedAccessSignature":
			sas = value
		}
	}
	if sas != "" && l.key == "" {
		l.sas, _ = url.ParseQuery(strings.TrimPrefix(sas, "?")) // what cannot be parsed is refused by the service
	}
	return l
}

// signer takes an account's key first, then a shared access signature, which is in the address already, then what the platform gives: the environment's service
// principal, workload identity, managed identity, and the logins of Azure's tools.
func (l login) signer(c *http.Client) (func(*http.Request) error, error) {
	switch {
	case l.key != "":
		key, err := base64.StdEncoding.DecodeString(l.key)
		if err != nil || l.account == "" {
			return nil, errors.New("the account key of the environment is not base64, or AZURE_STORAGE_ACCOUNT is not set")
		}
		return func(r *http.Request) error { return l.shared(r, key) }, nil
	case l.sas != nil:
		return func(*http.Request) error { return nil }, nil
	}
	chain, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: policy.ClientOptions{Transport: c}})
	if err != nil {
		return nil, err
	}
	return bearer(chain), nil
}

// bearer asks for a token; the library keeps it until it is about to expire.
func bearer(c azcore.TokenCredential) func(*http.Request) error {
	return func(r *http.Request) error {
		t, err := c.GetToken(r.Context(), policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+t.Token)
		return nil
	}
}

// shared signs a request without a body with the account's key.
func (l login) shared(r *http.Request, key []byte) error {
	h := func(name string) string { return r.Header.Get(name) }
	text := strings.Join([]string{r.Method, h("Content-Encoding"), h("Content-Language"), "", h("Content-MD5"), h("Content-Type"), "",
		h("If-Modified-Since"), h("If-Match"), h("If-None-Match"), h("If-Unmodified-Since"), h("Range")}, "\n") + "\n" + own(r.Header) + l.resource(r.URL)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	r.Header.Set("Authorization", fmt.Sprintf("SharedKey %s:%s", l.account, base64.StdEncoding.EncodeToString(mac.Sum(nil))))
	return nil
}

// own gives the headers of the service, sorted.
func own(header http.Header) string {
	var lines []string
	for name := range header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			lines = append(lines, name+":"+header.Get(name)+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// resource gives what is asked for: the account, the path, and the parameters, sorted.
func (l login) resource(u *url.URL) string {
	text := "/" + l.account + u.EscapedPath()
	var lines []string
	for name, values := range u.Query() {
		slices.Sort(values)
		lines = append(lines, "\n"+strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(lines)
	return text + strings.Join(lines, "")
}
