// Package redis mirrors consumers into keys of a Redis server or cluster, a key a row.
//
// It knows package sinks and what the sinks share.
//
// # Rows
//
// The key comes from a template that names the key columns in braces: accounts:{id}. With encoding hash a row is a hash with a field for
// each column that is not null; json, one string: the row's JSON; string, the bare value of the only column beside the
// key. Texts are stored as they are, bytes as base64, what nests as JSON.
//
// Two rows never share a key: the template must name every key column and no other, with text between two of them. Where it names
// several, '%' and the characters of the text between them are written %25, %3A, … inside values, so a:b, c and a, b:c
// stay apart. With one column a value stands as it is.
//
// All keys that begin like the template, with its text before the first brace, belong to Statebridge: a full epoch deletes those that are not
// in the state, whatever follows the beginning and whoever wrote them. So a template begins with text of its own, and two consumers of a
// sink may not have the same beginning.
//
// # What holds
//
// A row changes at once, so a reader sees it before or after, never with a stale field or absent between the two. Changes of one
// key are applied in order. The hash statebridge:<source>:<consumer> names the last complete epoch; it is written after all rows. Its
// member writer is the guard: on a server each batch of rows is one MULTI … EXEC that does nothing once the writer has changed (watched.go), or, where a full
// epoch replaces rows, one script that looks first, so a worker that was replaced changes nothing any more. In a cluster that check would need all keys in one slot; there it is made at the beginning and the end of an
// epoch only, and a replaced worker may still finish the pipeline that it has sent. What such a row holds is then put right by the epochs
// that its successor applies, or by the next full one.
//
// An epoch that broke off is applied again, with the same result. With EachRow Redis can't show a whole epoch at once; between two
// positions a reader may see rows of both.
//
// # Whole versions
//
// With Swap the rows are there twice, below accounts:a: and accounts:b:, and the position's member prefix names the complete side (swap.go). An epoch is written to
// the other one, which is first brought up to date on the server, by the keys that the epoch before has changed; the commit names it. These keys
// are in the set statebridge:<source>:<consumer>:behind, noted in the same MULTI … EXEC as their rows, so that whatever breaks off, the sides differ in noted keys only. The member
// behind says how many there are, or that the sides share nothing, as after a full epoch. In a cluster Swap is refused.
package redis
