// Package row takes apart the flat JSON objects in which rows travel: {"column":value,…}.
//
// It knows jsonscan and the columns of an epoch (package stream); every sink knows it. Values stay the bytes of the message until a
// target asks for their text, so a number keeps all its digits and nothing is allocated for a row.
//
//	{"id":"a\tb","balance":"1.50","tags":["x"],"note":null}
//	      ------           ------        -----        ----
//	      values[0]        values[1]     values[2]    values[3] = nil
package row
