package render_test

import (
	"os"

	"github.com/statebridge/statebridge/render"
)

func Example() {
	w, err := render.New(render.CSV, os.Stdout, []render.Column{{Name: "id", Type: "string"}, {Name: "tags", Type: "json", Nullable: true}}, render.Options{})
	if err != nil {
		panic(err)
	}
	for _, row := range []string{`{"id":"a","tags":["x","y"]}`, `{"id":""}`} {
		if err := w.Write([]byte(row)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	// Output:
	// id,tags
	// a,"[""x"",""y""]"
	// "",
}
