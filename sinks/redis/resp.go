package redis

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// The wire protocol (RESP2), as far as watched needs it. A command is an array of bulk strings:
//
//	*3\r\n $3\r\nSET\r\n $10\r\naccounts:7\r\n $5\r\nhello\r\n

// appendHead begins an array ('*') or a bulk string ('$').
func appendHead(dst []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, kind), int64(n), 10), "\r\n"...)
}

func appendBulk[T string | []byte](dst []byte, text T) []byte {
	return append(append(appendHead(dst, '$', len(text)), text...), "\r\n"...)
}

func appendCommand(dst []byte, words ...string) []byte {
	dst = appendHead(dst, '*', len(words))
	for _, w := range words {
		dst = appendBulk(dst, w)
	}
	return dst
}

// An openBulk is a bulk string whose text is not yet written; its length is guessed, so that it moves only when the guess is wrong.
type openBulk struct{ head, text, guess int }

func beginBulk(dst []byte, guess int) ([]byte, openBulk) {
	o := openBulk{head: len(dst), guess: guess}
	dst = appendHead(dst, '$', guess)
	o.text = len(dst)
	return dst, o
}

func (o openBulk) end(dst []byte) []byte {
	if n := len(dst) - o.text; n != o.guess {
		text := slices.Clone(dst[o.text:])
		dst = append(appendHead(dst[:o.head], '$', n), text...)
	}
	return append(dst, "\r\n"...)
}

// replyError is what a server answers instead of a result.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError makes it one of go-redis's errors.
func (replyError) RedisError() {}

// reply is one answer, or the head of an array; its text is valid until the next one.
type reply struct {
	kind byte // '+', ':', '$' or '*'
	null bool
	n    int64 // a number, or how many elements follow
	text []byte
}

var errReply = errors.New("the server's reply is not of the Redis protocol")

// readReply reads one. A bulk string must fit the reader's buffer.
func readReply(r *bufio.Reader) (p reply, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return p, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return p, errReply
	}
	p.kind, p.text = line[0], line[1:len(line)-2]
	switch p.kind {
	case '+':
		return p, nil
	case '-':
		return p, replyError(p.text)
	case ':', '$', '*':
	default:
		return p, errReply
	}
	if p.n, err = strconv.ParseInt(string(p.text), 10, 64); err != nil {
		return p, fmt.Errorf("%w: %w", errReply, err)
	}
	p.null = p.kind != ':' && p.n < 0
	if p.kind == '$' && !p.null {
		p.text, err = readText(r, int(min(p.n, 1<<30)))
	}
	return p, err
}

func readText(r *bufio.Reader, n int) ([]byte, error) {
	text, err := r.Peek(n + len("\r\n"))
	if err != nil {
		return nil, err
	}
	_, err = r.Discard(len(text))
	return text[:n], err
}
