// Package sinktest holds what the tests of sinks share: the conformance suite that each target passes, and private servers.
//
// Servers run Postgres, Redis or a Redis cluster from the binaries of the machine, each in a directory of its own on a free
// loopback port, and end with the test. A binary that is missing fails the test and says how to install it; nothing is skipped.
package sinktest
