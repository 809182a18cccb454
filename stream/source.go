package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Source is the stream and the buckets of one source.
type Source struct {
	bus    *Bus
	name   string
	stream jetstream.Stream
	epochs jetstream.KeyValue
	index  jetstream.Stream // that of the bucket epochs
	large  jetstream.ObjectStore
	limit  int // bytes of headers and body that a message may have

	mu     sync.Mutex
	broken map[string]bool // attempts of which something is missing
}

// Source gives the source of that name. It creates the stream and buckets that are absent, and refuses, with ErrLossy, those that may drop.
func (b *Bus) Source(ctx context.Context, name string) (*Source, error) {
	s := &Source{bus: b, name: name, broken: map[string]bool{}}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("source %s: %w", name, err)
	}
	return s, nil
}

func (s *Source) open(ctx context.Context) (err error) {
	if s.stream, err = s.ensureStream(ctx); err != nil {
		return err
	}
	if s.epochs, err = s.Bucket(ctx, "epochs"); err != nil {
		return err
	}
	if s.index, err = s.bus.js.Stream(ctx, "KV_"+s.epochs.Bucket()); err != nil {
		return err
	}
	if s.large, err = s.ensureObjects(ctx); err != nil {
		return err
	}
	s.limit = min(int(s.bus.conn.MaxPayload()), maxInline)
	if most := int(s.stream.CachedInfo().Config.MaxMsgSize); most > 0 {
		s.limit = min(s.limit, most)
	}
	if s.limit < minLimit {
		return fmt.Errorf("messages of %d bytes at most, which the server or stream sets, are too small: %d are needed", s.limit, minLimit)
	}
	return nil
}

// minLimit leaves room for headers and for a line that names an object.
const minLimit = 4 << 10

// Name is the source's name.
func (s *Source) Name() string { return s.name }

// Bus is the connection that the source lives on.
func (s *Source) Bus() *Bus { return s.bus }

// Limit is how many bytes a message may have, headers and all.
func (s *Source) Limit() int { return s.limit }

// base is the name of the source's stream and the start of its buckets' names. A prefix with an underscore could give two sources one
// name; the stream's subjects, which differ then, tell.
func (s *Source) base() string { return s.bus.opts.Prefix + "_" + Token(s.name) }

func (s *Source) subjects() string { return s.bus.opts.Prefix + "." + Token(s.name) + ".>" }

// subject is that of a partition, or the control subject.
func (s *Source) subject(consumer string, lane int) string {
	return s.bus.opts.Prefix + "." + Token(s.name) + "." + Token(consumer) + "." + laneToken(lane)
}

func laneToken(lane int) string {
	if lane == controlLane {
		return "epochs"
	}
	return strconv.Itoa(lane)
}

// filter covers all subjects of a consumer.
func (s *Source) filter(consumer string) string {
	return s.bus.opts.Prefix + "." + Token(s.name) + "." + Token(consumer) + ".*"
}

func (s *Source) ensureStream(ctx context.Context) (jetstream.Stream, error) {
	js := s.bus.js
	st, err := js.Stream(ctx, s.base())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		st, err = js.CreateStream(ctx, jetstream.StreamConfig{
			Name: s.base(), Description: "changes of the state of " + strconv.QuoteToASCII(clip(s.name)), Subjects: []string{s.subjects()},
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Replicas: s.bus.opts.Replicas,
			Duplicates: 2 * time.Minute,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else was quicker
			st, err = js.Stream(ctx, s.base())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.base(), err)
	}
	c := st.CachedInfo().Config
	return st, errors.Join(checkLossless(c, 0), checkUsable(c, s.subjects()))
}

// Bucket gives the source's key-value bucket of that name, and creates it when absent. One that may drop values is refused.
func (s *Source) Bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	js, bucket := s.bus.js, s.base()+"_"+name
	kv, err := js.KeyValue(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, History: 1, Storage: jetstream.FileStorage, Replicas: s.bus.opts.Replicas})
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = js.KeyValue(ctx, bucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", bucket, err)
	}
	return kv, s.checkBucket(ctx, "KV_"+bucket)
}

func (s *Source) ensureObjects(ctx context.Context) (jetstream.ObjectStore, error) {
	js, bucket := s.bus.js, s.base()+"_large"
	o, err := js.ObjectStore(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		o, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Storage: jetstream.FileStorage, Replicas: s.bus.opts.Replicas})
		if errors.Is(err, jetstream.ErrBucketExists) {
			o, err = js.ObjectStore(ctx, bucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", bucket, err)
	}
	return o, s.checkBucket(ctx, "OBJ_"+bucket)
}

func (s *Source) checkBucket(ctx context.Context, stream string) error {
	st, err := s.bus.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	c := st.CachedInfo().Config
	return checkLossless(c, c.MaxMsgsPerSubject) // a bucket keeps the last values of a key by design
}

// clip keeps descriptions short enough for the server.
func clip(name string) string {
	if len(name) > 100 {
		return name[:100] + "…"
	}
	return name
}
