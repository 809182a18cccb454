// Package planner knows the stateful operators of Flink's Table planner: how they are named, and what their states hold.
//
// It knows state alone. From Flink 2 on a snapshot has the names that the planner gives, as in
//
//	uid   6_global-window-aggregate
//	name  GlobalWindowAggregate[6]
//
// Before, only the names of the states tell, and not always which operator it is.
package planner
