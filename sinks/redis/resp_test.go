package redis

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestReadReply(t *testing.T) {
	var server redis.Error
	for said, want := range map[string]struct {
		reply reply
		err   error // errReply, io.EOF, or a server's own
	}{
		"+QUEUED\r\n":               {reply: reply{kind: '+', text: []byte("QUEUED")}},
		":6\r\n":                    {reply: reply{kind: ':', n: 6}},
		":-1\r\n":                   {reply: reply{kind: ':', n: -1}},
		"$3\r\na\nb\r\n":            {reply: reply{kind: '$', n: 3, text: []byte("a\nb")}},
		"$0\r\n\r\n":                {reply: reply{kind: '$'}},
		"$-1\r\n":                   {reply: reply{kind: '$', n: -1, null: true}},
		"*2\r\n":                    {reply: reply{kind: '*', n: 2}},
		"*-1\r\n":                   {reply: reply{kind: '*', n: -1, null: true}},
		"-OOM no room\r\n":          {err: replyError("OOM no room")},
		"":                          {err: io.EOF},
		"+QUEU":                     {err: io.EOF},
		"$5\r\nab":                  {err: io.EOF},
		"\r\n":                      {err: errReply},
		"+\n":                       {err: errReply},
		":x\r\n":                    {err: errReply},
		"$99999999999999999\r\n":    {err: bufio.ErrBufferFull},
		"*99999999999999999999\r\n": {err: errReply},
		"HTTP/1.1 400\r\n":          {err: errReply},
	} {
		got, err := readReply(bufio.NewReader(strings.NewReader(said)))
		if !errors.Is(err, want.err) {
			t.Errorf("%q: err = %v, want %v", said, err, want.err)
		}
		if err == nil && (got.kind != want.reply.kind || got.n != want.reply.n || got.null != want.reply.null || want.reply.text != nil && string(got.text) != string(want.reply.text)) {
			t.Errorf("%q: %+v, want %+v", said, got, want.reply)
		}
		if said != "" && said[0] == '-' && !errors.As(err, &server) {
			t.Errorf("%q is no error of a server", said)
		}
	}
}

// TestBulk: the length is right whether or not it was guessed, the head being shorter or longer than the guessed one.
func TestBulk(t *testing.T) {
	for _, guess := range []int{0, 5, 10, 1000} {
		dst, bulk := beginBulk([]byte("before"), guess)
		if got := string(bulk.end(append(dst, "hello"...))); got != "before$5\r\nhello\r\n" {
			t.Errorf("guess %d: %q", guess, got)
		}
	}
}
