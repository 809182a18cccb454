// Package faults breaks everything that a bridge stands on, at random, while a real job moves money, and looks whether anybody ever sees a wrong
// sum.
//
//	Flink job ──checkpoints──> bridge a, bridge b ──proxy──> NATS
//	  killed, rewound,           killed, frozen,       │       killed, emptied, set back
//	  its files deleted          the other takes over  ├─────> PostgreSQL <── watch: every sum is the constant,
//	                                                   │                             every state is a checkpoint's
//	                       cut at a random byte,       └─────> Redis      <── watch: the complete epoch never goes back
//	                       stalled, refused                       killed, emptied, set back;   where a sink swaps whole versions: every
//	                                                              sum and every state, as in PostgreSQL
//
// The faults come from a seed (schedule.go), a round at a time. After each round the job holds still for a checkpoint, and every table in every target must equal
// what that holds, row for row. Both bridges run the same config, each with a data directory of its own; a service manager would start one again that has ended, and so
// do we.
//
// It knows e2e and sinks/sinktest; nothing knows it.
package faults
