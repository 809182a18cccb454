// Package fetch plans the reading of files that lie far away, where each request takes long and many can be under way at once.
//
// It knows checkpoint/storage; checkpoint and its readers know it. Nothing here decides what is read, only when and in which
// pieces: whoever has not fetched something ahead reads it when it needs it, and gets the same bytes.
//
//	Link      the way to one store: how long a request takes, how many may be under way, how much may lie ready
//	Batch     pieces of files that are known beforehand: joined to ranges, fetched side by side, laid on a Stage each
//	Early     one piece of a file that is sent for before anybody asks
//	Windowed  a file of which many small neighbouring pieces are wanted, read by windows that are kept for a while
//	Stream    one piece of a file from front to back: the next parts are on their way while one is looked at
package fetch
