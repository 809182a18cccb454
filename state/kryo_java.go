package state

import "github.com/statebridge/statebridge/state/javaobj"

// Objects that Kryo leaves to Java's own serialization. Of these only the classes are read whose fields Java itself fixes ("Serialized Form").

// readJavaField prints one field of an object, a string that is all there is to the value.
func readJavaField(name string) kryoRead {
	return func(k *kryoReader, dst []byte, t *kryoType) []byte {
		o, _ := javaobj.Parse(k.Reader).(*javaobj.Object)
		text, ok := javaText(o, name)
		if !ok {
			k.Fail("%s without its %s", t.name, name)
			return appendNull(dst)
		}
		return appendQuoted(dst, []byte(text))
	}
}

func readJavaLocale(k *kryoReader, dst []byte, t *kryoType) []byte {
	o, _ := javaobj.Parse(k.Reader).(*javaobj.Object)
	var parts [5]string
	for i, name := range []string{"language", "country", "variant", "script", "extensions"} {
		var ok bool
		if parts[i], ok = javaText(o, name); !ok {
			k.Fail("%s without its %s", t.name, name)
			return appendNull(dst)
		}
	}
	return appendQuoted(dst, appendLocale(nil, parts))
}

func javaText(o *javaobj.Object, field string) (text string, ok bool) {
	v, _ := o.Field(field)
	text, ok = v.(string)
	return text, ok
}

// appendLocale prints "de_DE", "no_NO_NY", "zh_TW_#Hant" as Locale.toString does.
func appendLocale(dst []byte, parts [5]string) []byte {
	language, country, variant, script, extensions := parts[0], parts[1], parts[2], parts[3], parts[4]
	dst = append(dst, language...)
	if country != "" || language != "" && variant+script+extensions != "" {
		dst = append(append(dst, '_'), country...)
	}
	if language+country == "" {
		return dst
	}
	if variant != "" {
		dst = append(append(dst, '_'), variant...)
	}
	if script != "" {
		dst = append(append(dst, "_#"...), script...)
	}
	switch {
	case extensions == "":
	case script == "":
		dst = append(append(dst, "_#"...), extensions...)
	default:
		dst = append(append(dst, '_'), extensions...)
	}
	return dst
}
