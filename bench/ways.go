package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// A way is one that the server offers.
type way struct {
	name string
	entrant
}

// bodies cuts the lines into messages of about so many bytes; those of the lanes alternate.
func (p *publishing) bodies(size int) (messages []*nats.Msg) {
	left := map[string][]byte{}
	for lane, lines := range p.lines {
		left[lane] = lines
	}
	for len(left) > 0 {
		for lane, lines := range left {
			end := len(lines)
			if end > size {
				end = bytes.LastIndexByte(lines[:size], '\n') + 1
			}
			messages = append(messages, &nats.Msg{Subject: "peer" + lane, Data: lines[:end]})
			if left[lane] = lines[end:]; end == len(lines) {
				delete(left, lane)
			}
		}
	}
	return messages
}

// ways are the fastest of each kind, and those that differ from it in one thing.
func (p *publishing) ways() (ways []way) {
	for _, w := range []struct {
		name    string
		size    int
		publish publisher
	}{
		{"async, 100 a message", 100 * p.bytes / len(p.rows), publishAsync},
		{"async, 64 KiB messages", 64 << 10, publishAsync},
		{"async, 1 MB messages", 1_000_000, publishAsync},
		{"fast ingest, 100 a message", 100 * p.bytes / len(p.rows), publishFast},
		{"fast ingest, 64 KiB messages", 64 << 10, publishFast},
		{"fast ingest, 1 MB messages", 1_000_000, publishFast},
		{"atomic, 64 KiB messages", 64 << 10, publishAtomic},
	} {
		messages := p.bodies(w.size)
		ways = append(ways, way{w.name, entrant{run: func(ctx context.Context) (sample, error) { return p.peer(ctx, messages, w.publish) }}})
	}
	return ways
}

func (p *publishing) peer(ctx context.Context, messages []*nats.Msg, publish publisher) (sample, error) {
	if err := p.nats.clear(ctx); err != nil {
		return sample{}, err
	}
	config := jetstream.StreamConfig{Name: "peer", Subjects: []string{"peer.*"}, Storage: jetstream.FileStorage, AllowAtomicPublish: true, AllowBatchPublish: true}
	if _, err := p.nats.js.CreateStream(ctx, config); err != nil {
		return sample{}, err
	}
	for _, m := range messages {
		m.Header, m.Reply = nats.Header{}, ""
	}
	s, err := p.nats.timed(func() error { return publish(ctx, p.nats.js, messages) })
	if err != nil {
		return s, err
	}
	info, err := p.nats.js.Stream(ctx, "peer")
	if err == nil && info.CachedInfo().State.Msgs != uint64(len(messages)) {
		err = fmt.Errorf("%d of %d messages are in the stream", info.CachedInfo().State.Msgs, len(messages))
	}
	return s, err
}

// A publisher stores messages, in order.
type publisher func(context.Context, jetstream.JetStream, []*nats.Msg) error

// window is how many bytes a peer has on their way.
const window = 32 << 20

func publishAsync(ctx context.Context, js jetstream.JetStream, messages []*nats.Msg) error {
	var ahead []jetstream.PubAckFuture
	flying, oldest := 0, 0
	for i, m := range messages {
		for flying > 0 && flying+len(m.Data) > window {
			select {
			case <-ahead[oldest].Ok():
			case err := <-ahead[oldest].Err():
				return err
			}
			flying -= len(messages[oldest].Data)
			oldest++
		}
		f, err := js.PublishMsgAsync(messages[i])
		if err != nil {
			return err
		}
		ahead, flying = append(ahead, f), flying+len(m.Data)
	}
	for _, f := range ahead[oldest:] {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		}
	}
	return nil
}

func publishFast(ctx context.Context, js jetstream.JetStream, messages []*nats.Msg) error {
	p, err := jetstreamext.NewFastPublisher(js)
	if err != nil {
		return err
	}
	last := len(messages) - 1
	for _, m := range messages[:last] {
		if _, err := p.AddMsg(m); err != nil {
			return err
		}
	}
	_, err = p.CommitMsg(ctx, messages[last])
	return err
}

const atomicMost = 1000 // messages of a batch that a server takes

func publishAtomic(ctx context.Context, js jetstream.JetStream, messages []*nats.Msg) error {
	for len(messages) > 0 {
		n := min(atomicMost, len(messages))
		if _, err := jetstreamext.PublishMsgBatch(ctx, js, messages[:n]); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}
