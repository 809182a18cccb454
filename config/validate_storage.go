package config

import (
	"net/url"
	"slices"
	"strings"
)

// Schemes are those of the addresses that can be read.
var Schemes = []string{"file", "s3", "s3a", "s3n", "s3p", "gs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "webhdfs", "swebhdfs"}

// validateAddress checks where files lie: a path, or a URI. It does not repeat the address, in which a password may stand.
func validateAddress(uri, path string, f *faults) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !strings.HasPrefix(rest, "/") {
		return
	}
	authority, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/")
	switch {
	case !slices.Contains(Schemes, strings.ToLower(scheme)):
		f.add(path, "has the scheme %s, which is not read; %s are", scheme, strings.Join(Schemes, ", "))
	case strings.HasPrefix(scheme, "s3") && strings.Contains(authority, "@"):
		f.add(path, "holds credentials, which belong into the environment or a credentials file")
	}
}

func (s *Storage) validate(f *faults) {
	validateEndpoint(s.S3.Endpoint, "storage.s3.endpoint", f)
	validateEndpoint(s.GCS.Endpoint, "storage.gcs.endpoint", f)
	validateEndpoint(s.Azure.Endpoint, "storage.azure.endpoint", f)
	for address := range strings.SplitSeq(s.HDFS.Address, ",") {
		validateEndpoint(strings.TrimSpace(address), "storage.hdfs.address", f)
	}
}

// validateEndpoint wants a bare address of a server.
func validateEndpoint(text, path string, f *faults) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		f.add(path, "must be http:// or https:// and a host")
	case u.User != nil:
		f.add(path, "holds credentials, which belong into the environment or a file of the cloud's tools")
	}
}
