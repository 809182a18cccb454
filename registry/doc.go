// Package registry holds what processes tell each other about a source: its consumers, where each sink stands, who asks for a full epoch,
// what a publisher asks people, and which process does what. It lives in the bucket <prefix>_<source>_registry; the rows that sinks could
// not write, the dead letters, lie in <prefix>_<source>_dead.
//
// It knows stream; feed and sinks know it. Nothing here decides what is applied: positions live in the targets and epochs in the stream, so that a lost
// registry costs a full epoch at most.
package registry
