package storage

import (
	"strings"

	"github.com/statebridge/statebridge/fault"
)

// Scheme gives what stands before ":/" in a URI, in lower case; "" for a plain path.
func Scheme(uri string) string {
	i := strings.Index(uri, ":/")
	if i < 1 || !isLetter(uri[0]) {
		return ""
	}
	for j := 1; j < i; j++ {
		if c := uri[j]; !isLetter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return ""
		}
	}
	return strings.ToLower(uri[:i])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// LocalPath gives the path of "file:/a", "file:///a" or a plain path. Escapes are left as they are, since Flink prints
// paths decoded. Another scheme, or a file on another host, is unsupported.
func LocalPath(uri string) (string, error) {
	switch s := Scheme(uri); s {
	case "":
		return uri, nil
	case "file":
	default:
		return "", fault.Unsupported(uri, -1, "storage %q is not supported (local files are)", s)
	}
	path := uri[len("file:"):]
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		host, _, found := strings.Cut(rest, "/")
		if host != "" && host != "localhost" || !found {
			return "", fault.Unsupported(uri, -1, "file URI with host %q", host)
		}
		path = rest[len(host):]
	}
	return path, nil
}

// Join puts name below a directory's URI or path.
func Join(dir, name string) string {
	return strings.TrimRight(dir, "/") + "/" + name
}

// Split takes the last component off a URI or path: Join(Split(x)) is x but for trailing slashes. The root, a bare
// name and a bare authority ("s3://bucket") have no directory, which gives "".
func Split(uri string) (dir, name string) {
	uri = strings.TrimRight(uri, "/")
	i := strings.LastIndexByte(uri, '/')
	if i < rootLen(uri) {
		return "", uri[i+1:]
	}
	return uri[:i], uri[i+1:]
}

// rootLen is the length of the part of uri that no directory can be taken from.
func rootLen(uri string) int {
	s := Scheme(uri)
	if s == "" {
		return 0
	}
	n := len(s) + 1
	rest := uri[n:]
	if !strings.HasPrefix(rest, "//") {
		return n
	}
	if i := strings.IndexByte(rest[2:], '/'); i >= 0 {
		return n + 2 + i
	}
	return len(uri)
}
