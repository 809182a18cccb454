package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Setting is a member that can also be given outside the file: a scalar that is not part of a list.
type Setting struct {
	Path    string // "source.flink.poll"
	Env     string // "STATEBRIDGE_SOURCE_FLINK_POLL"
	Default string
	Doc     string

	value reflect.Value
}

// Settings lists every setting, in the order of the file.
func Settings() []Setting { return settings(reflect.ValueOf(new(Config)).Elem(), "") }

func settings(v reflect.Value, path string) []Setting {
	var list []Setting
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		p := join(path, field.Tag.Get("yaml"))
		switch value.Kind() {
		case reflect.Struct:
			list = append(list, settings(value, p)...)
		case reflect.Slice, reflect.Pointer:
		default:
			env := "STATEBRIDGE_" + strings.ToUpper(strings.ReplaceAll(p, ".", "_"))
			list = append(list, Setting{p, env, field.Tag.Get("default"), field.Tag.Get("doc"), value})
		}
	}
	return list
}

// setDefaults sets what the tags say; what a pointer or a slice holds gets its defaults when it is made.
func setDefaults(v reflect.Value) {
	for i := range v.NumField() {
		text, ok := v.Type().Field(i).Tag.Lookup("default")
		switch value := v.Field(i); {
		case value.Kind() == reflect.Struct:
			setDefaults(value)
		case ok:
			if err := setText(value, text); err != nil {
				panic("config: default of " + v.Type().Field(i).Name + ": " + err.Error()) // a slip in a tag, seen by any test
			}
		}
	}
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
)

// setText sets a scalar. The error does not repeat the text, which may be a secret in the wrong place.
func setText(v reflect.Value, text string) error {
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("must be a duration such as 500ms, 10s or 24h")
		}
		v.SetInt(int64(d))
	case v.Type() == sizeType:
		n, err := ParseSize(text)
		if err != nil {
			return err
		}
		v.SetInt(int64(n))
	case v.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("must be a whole number")
		}
		v.SetInt(int64(n))
	case v.Kind() == reflect.String:
		v.SetString(text)
	default:
		return fmt.Errorf("must not be a single value")
	}
	return nil
}
