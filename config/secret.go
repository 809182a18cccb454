package config

import "log/slog"

// Secret is text that never reaches a log or a message: it prints as ***, whatever prints it. Reveal gives the text.
type Secret string

const masked = "***"

// Reveal gives the text itself, for the client library that needs it.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString covers %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText covers JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue covers slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
