// Package jsonscan finds values in JSON text without decoding them.
//
//	{"id":"a\tb","balance":"1.50","tags":["x"],"note":null}
//	      ------           ------        -----        ----
//
// ValueEnd says where one value ends, Members walks an object or an array, Columns finds the members of a flat object by their names.
// What they give aliases the text, so nothing is allocated and a number keeps all its digits. The grammar is checked as encoding/json
// checks it, but for one thing: whether strings are UTF-8 is not looked at.
//
// Every room may know it and it knows none.
package jsonscan
