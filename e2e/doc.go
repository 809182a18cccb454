// Package e2e runs the whole of statebridge against real servers: Flink jobs that write checkpoints, PostgreSQL, Redis, and the binary itself
// as a process that can be killed.
//
// It knows the command line and the files and tables that come out of it; nothing knows it. The job is in flink/, its snapshots and those of
// other real jobs in testdata/corpus, which package corpus reads.
//
// The tests need java and mvn (for the job), postgres and redis-server, and fail when one is missing.
package e2e
