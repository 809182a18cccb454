package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Subjects, buckets and keys share one alphabet, the narrowest of the three: A-Z a-z 0-9 - and _, which escapes.
//
//	accounts-eu  accounts-eu        a.b  a_2eb        a_b  a__b        (empty)  _
//
// Names above maxToken would not fit a subject or a file name. Their token is a readable start and a digest, "…_h<64 hex>"; it
// has no way back, so that records carry the name itself as well.
const maxToken = 96

var errToken = errors.New("not a token")

// Token encodes a name of any bytes for use in subjects, bucket names and keys. Different names have different tokens.
func Token(name string) string {
	if name == "" {
		return "_"
	}
	t := escape(name)
	if len(t) <= maxToken {
		return t
	}
	start := 24
	for len(escape(name[:start])) > 24 { // cut between escapes, so that _h can't be taken for the rest of one
		start--
	}
	sum := sha256.Sum256([]byte(name))
	return escape(name[:start]) + "_h" + hex.EncodeToString(sum[:])
}

func escape(name string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(name)+8)
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b = append(b, c)
		case c == '_':
			b = append(b, '_', '_')
		default:
			b = append(b, '_', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// Name is the way back from Token. It fails for what Token can't have given, and for the digest of a long name.
func Name(token string) (string, error) {
	if token == "_" {
		return "", nil
	}
	b := make([]byte, 0, len(token))
	for rest := token; rest != ""; {
		c := rest[0]
		switch {
		case c != '_':
			b, rest = append(b, c), rest[1:]
		case strings.HasPrefix(rest, "__"):
			b, rest = append(b, '_'), rest[2:]
		case len(rest) >= 3:
			x, err := hex.DecodeString(rest[1:3])
			if err != nil {
				return "", errToken
			}
			b, rest = append(b, x...), rest[3:]
		default:
			return "", errToken
		}
	}
	if len(b) == 0 || escape(string(b)) != token {
		return "", errToken
	}
	return string(b), nil
}
