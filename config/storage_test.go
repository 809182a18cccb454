package config

import (
	"strings"
	"testing"
)

// Faults of addresses name no secret.
func TestStorageFaults(t *testing.T) {
	environ := func(name string) (string, bool) {
		text, ok := map[string]string{
			"STATEBRIDGE_STORAGE_REQUESTS": "0", "STATEBRIDGE_STORAGE_S3_ENDPOINT": "https://key:hidden-word@host", "STATEBRIDGE_STORAGE_S3_PATH_STYLE": "yes",
			"STATEBRIDGE_SOURCE_FLINK_CHECKPOINTS": "s3a://key:hidden-word@bucket/cp",
		}[name]
		return text, ok
	}
	_, err := LoadStorage(environ, nil)
	_, whole := Load("", environ, nil)
	for _, want := range []string{"storage.requests: must be from 1 to 1024", "storage.s3.endpoint: holds credentials", "storage.s3.path_style: must be one of"} {
		if err == nil || whole == nil || !strings.Contains(err.Error(), want) || !strings.Contains(whole.Error(), want) {
			t.Errorf("no %q in %v, or not in %v", want, err, whole)
		}
	}
	if !strings.Contains(whole.Error(), "source.flink.checkpoints: holds credentials") || strings.Contains(whole.Error()+err.Error(), "hidden-word") {
		t.Error(whole, err)
	}
	s, err := LoadStorage(func(string) (string, bool) { return "", false }, map[string]string{"storage.s3.endpoint": "http://127.0.0.1:9000"})
	if err != nil || s.Requests != 512 || s.S3.Endpoint != "http://127.0.0.1:9000" || s.S3.PathStyle != "auto" {
		t.Errorf("%+v, %v", s, err)
	}
}
