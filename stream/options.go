package stream

import (
	"fmt"
	"net"
	"regexp"
)

// Options says which server to use and how. The zero value with a Dir runs one embedded server that nobody else can reach.
type Options struct {
	URL    string // nats://host:port[,…]; empty: a server embedded in this process
	Prefix string // first token of subjects, streams and buckets; "statebridge" when empty

	Name     string // of the connection, for the server's own lists
	User     string
	Password string
	Token    string
	Creds    string // file of a user JWT and its seed; read again at each reconnect
	NKey     string // file of an nkey seed
	CA       string // PEM files
	Cert     string
	Key      string
	Domain   string // JetStream domain, for leaf nodes
	Replicas int    // of the streams and buckets that are created; 1 when 0

	Dir    string // of the embedded server's files
	Join   bool   // use the server of the process that holds Dir, if one does
	Listen string // loopback address on which the embedded server listens, such as 127.0.0.1:4222; empty: none. With User it asks for User and Password

	BatchBytes int // size of a message body that holds several changes; 512 KiB when 0
	Window     int // bytes published and not yet acknowledged; 8 MiB when 0
	ReadAhead  int // bytes of messages that wait in each reading; 32 MiB when 0
}

const (
	defaultPrefix = "statebridge"
	defaultBatch  = 512 << 10 // a server needs a fifth less for each byte than in messages of 64 KiB; larger ones gain next to nothing
	defaultWindow = 8 << 20   // more gains nothing on one machine, and would no longer lie in its caches
	defaultAhead  = 32 << 20
	maxInline     = 8 << 20 // servers advise against larger messages, even where they are allowed
)

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (o Options) withDefaults() (Options, error) {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if !prefixPattern.MatchString(o.Prefix) {
		return o, fmt.Errorf("nats prefix %q: 1 to 64 letters, digits, - and _ are possible", o.Prefix)
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = defaultBatch
	}
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	if o.ReadAhead <= 0 {
		o.ReadAhead = defaultAhead
	}
	if o.Replicas <= 0 {
		o.Replicas = 1
	}
	if o.URL == "" && o.Dir == "" {
		return o, fmt.Errorf("the embedded server needs a data directory")
	}
	return o, checkLoopback(o.Listen)
}

func checkLoopback(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen address %s: only a loopback address is possible; run a server of your own to share it", addr)
	}
	return nil
}
