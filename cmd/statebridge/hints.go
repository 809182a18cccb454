package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/state"
)

const decodeUsage = "`CLASS=FORM`: how to decode a class that the snapshot does not describe: utf8, json, hex, protobuf:FILE#Message, avro:FILE, " +
	"fields:name:type,… or enum:NAME,NAME,…; int32: or varint: before one of the first five says that a length stands before the bytes; may be repeated"

// readHints reads what --decode says, and the files that it names.
func readHints(list []string) (*state.Hints, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var hints []state.Hint
	var faults []error
	for _, text := range list {
		h, err := state.ParseHint(text)
		if err == nil && h.File != "" {
			h.Data, err = os.ReadFile(h.File)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		hints = append(hints, h)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return state.NewHints(hints)
}

// warnUnmet names the hints that nothing needed, which may be misspelt.
func warnUnmet(hints *state.Hints, stderr io.Writer) {
	for _, class := range hints.Unmet() {
		fmt.Fprintf(stderr, "statebridge: --decode %s: what was read has no value of this class that needs it\n", class)
	}
}

// checkHints finds the faults of source.flink.decode that show without its files.
func checkHints(c *config.Config) error {
	var faults []error
	for i, text := range c.Source.Flink.Decode {
		if _, err := state.ParseHint(text); err != nil {
			faults = append(faults, &config.FieldError{Path: fmt.Sprintf("source.flink.decode[%d]", i), Reason: err.Error()})
		}
	}
	return errors.Join(faults...)
}
