// Command bench measures statebridge against what one would use without it, on the same files, cores and day, and prints one table of
// ratios. It exits with 1 when a ratio misses its goal.
//
//	go run ./bench                              # 1M keys, a few minutes; make bench
//	go run ./bench -keys 5000000,20000000 …     # make bench-long
//
// What reads snapshots is measured as a process, beside two more kinds of process: the peers in bench/flink, which read the same snapshots with
// Flink's State Processor API, and go test -bench. The snapshots come from the bulk mode of the job in e2e/flink and stay in -dir for the next run.
// What publishes and applies is measured in this process, through the same packages that statebridge is made of, against servers that are
// processes of their own: NATS (this program, started again), PostgreSQL and Redis.
//
// How it measures: the entrants of a contest run in turn, round after round, so that a slow minute of the machine meets all of them, and ours runs twice in
// each round. A ratio is that of the medians; beside it stand the lowest and highest ratio of a single round, and the ratio of ours to ours (A/A), which
// would be 1 on a machine without noise. Every entrant must count the same rows. Time is that of the whole process, the start of the JVM included;
// where that matters a line of its own leaves it out. Memory is the peak resident set as the kernel accounts for it.
package main
