package config

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (n *NATS) validate(f *faults) {
	for server := range strings.SplitSeq(n.URL.Reveal(), ",") {
		if n.URL != "" {
			checkURL(server, "nats.url", f, "nats", "tls", "ws", "wss")
		}
	}
	if strings.ContainsFunc(n.Prefix, notTokenRune) || n.Prefix == "" || len(n.Prefix) > maxName {
		f.add("nats.prefix", "must be 1 to %d letters, digits, - or _", maxName)
	}
	n.validateLogin(f)
	n.validateDomain(f)
	n.TLS.validate("nats.tls", f)
	checkPositive(n.Keep, "nats.keep", f)
	if n.Listen != "" {
		n.validateListen(f)
	}
}

func notTokenRune(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
}

func (n *NATS) validateLogin(f *faults) {
	logins := []struct{ path, value string }{{"nats.creds", n.Creds}, {"nats.user", n.User}, {"nats.nkey", n.NKey}}
	first := ""
	for _, l := range logins {
		switch {
		case l.value == "":
		case n.embedded() && l.path != "nats.user":
			f.add(l.path, "needs nats.url; the embedded server knows a user and a password only")
		case n.embedded() && n.Listen == "":
			f.add(l.path, "needs nats.url, or nats.listen for the embedded server to ask who connects")
		case first != "":
			f.add(l.path, "cannot stand beside %s", first)
		default:
			first = l.path
		}
	}
	if n.Password != "" && n.User == "" {
		f.add("nats.password", "needs nats.user")
	}
}

func (n *NATS) validateDomain(f *faults) {
	switch {
	case strings.ContainsFunc(n.Domain, notTokenRune) || len(n.Domain) > maxName:
		f.add("nats.domain", "must be at most %d letters, digits, - or _", maxName)
	case n.Domain != "" && n.embedded():
		f.add("nats.domain", "needs nats.url; the embedded server has no domain")
	}
	if n.Replicas > 1 && n.embedded() {
		f.add("nats.replicas", "needs nats.url; the embedded server is one server")
	}
}

// embedded reports whether the server runs in the process; a url_file that could not be read was meant to name another one.
func (n *NATS) embedded() bool { return n.URL == "" && n.URLFile == "" }

func (n *NATS) validateListen(f *faults) {
	host, port, err := net.SplitHostPort(n.Listen)
	ip := net.ParseIP(host)
	switch {
	case !n.embedded():
		f.add("nats.listen", "is for the embedded server, and nats.url names another")
	case err != nil || port == "":
		f.add("nats.listen", "must be host:port, such as 127.0.0.1:4222")
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		f.add("nats.listen", "must be a loopback address; for other hosts run a NATS server with accounts and name it in nats.url")
	}
}

func (t TLS) validate(path string, f *faults) {
	switch {
	case t.Cert != "" && t.Key == "":
		f.add(path+".key", "is required with cert")
	case t.Key != "" && t.Cert == "":
		f.add(path+".cert", "is required with key")
	}
}

func (s *Source) validate(f *faults) {
	checkName(s.Name, "source.name", f)
	fl := s.Flink
	validateAddress(fl.Checkpoints, "source.flink.checkpoints", f)
	if strings.ContainsAny(fl.Job, `/\`) || strings.HasPrefix(fl.Job, ".") {
		f.add("source.flink.job", "must be the id of a job, not a path")
	}
	if fl.REST != "" {
		checkURL(fl.REST, "source.flink.rest", f, "http", "https")
	}
	for i, m := range fl.PathMap {
		if from, to, ok := strings.Cut(m, "="); !ok || from == "" || to == "" {
			f.add(index("source.flink.path_map", i), "must be FROM=TO")
		}
	}
	for i, d := range fl.Decode {
		if class, form, ok := strings.Cut(d, "="); !ok || class == "" || form == "" {
			f.add(index("source.flink.decode", i), "must be CLASS=FORM")
		}
	}
	checkPositive(fl.Poll, "source.flink.poll", f)
}

func checkPositive(d time.Duration, path string, f *faults) {
	if d <= 0 {
		f.add(path, "must be above zero")
	}
}

// checkURL names the scheme of a bad address and nothing more of it, as the rest may hold a password.
func checkURL(text, path string, f *faults, schemes ...string) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		f.add(path, "is not a URL")
	case !slices.Contains(schemes, u.Scheme):
		f.add(path, "must start with %s", strings.Join(schemes, "://, ")+"://")
	case u.Host == "" && u.Path == "": // a socket has a path and no host
		f.add(path, "names no host")
	}
}
