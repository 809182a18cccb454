package config

import (
	"fmt"
	"strings"
)

// Environ looks a variable up; os.LookupEnv is one.
type Environ func(name string) (string, bool)

// interpolate replaces ${VAR} and ${VAR:-default} (for a variable that is unset or empty) and turns $$ into $. Any other $ stands for itself.
// What a variable holds is not looked at again.
func interpolate(s string, environ Environ) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		switch s[i+1] {
		case '$':
			b.WriteByte('$')
			s = s[i+2:]
		case '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return "", fmt.Errorf("has a ${ without its }; $$ stands for a plain $")
			}
			v, err := reference(s[i+2:i+end], environ)
			if err != nil {
				return "", err
			}
			b.WriteString(v)
			s = s[i+end+1:]
		default:
			b.WriteByte('$')
			s = s[i+1:]
		}
	}
}

func reference(ref string, environ Environ) (string, error) {
	name, fallback, hasFallback := strings.Cut(ref, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf("has a ${…} that names no variable; $$ stands for a plain $")
	}
	if strings.Contains(fallback, "${") {
		return "", fmt.Errorf("has a ${%s:-…} with another ${ inside, which is not read", name)
	}
	v, ok := environ(name)
	switch {
	case hasFallback && v == "":
		return fallback, nil
	case !ok && !hasFallback:
		return "", fmt.Errorf("needs the variable %s, which is not set", name)
	}
	return v, nil
}

func isVariable(s string) bool {
	for i, c := range s {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
