// Package engine is the schedules of collective operations (fi_collective(3)): what one member sends to whom, expects from whom, and computes, in which order.
//
// An Op is a program of a few kinds of instructions (program.go), planned when the operation starts, by an algorithm that suits the number of members and the
// size of the data:
//
//	barrier          dissemination
//	broadcast        binomial tree; large: scatter, then a ring
//	reduce           binomial tree; large: reduce-scatter, then every member sends its block to the root
//	allreduce        recursive doubling; large: reduce-scatter, then allgather (Rabenseifner for powers of two, else rings)
//	reduce-scatter   as allreduce without its second half
//	allgather        Bruck; large: a ring
//	gather, scatter  binomial tree; large, or with few members: the root with everybody
//	all to all       everybody with everybody, a few at a time
//
// The driver executes sends and receives and says when each has finished; computation is done here. Messages of one operation between two members are told
// apart by a step number, so that they may arrive before they are expected. Reductions keep the order of ranks where that is free: recursive doubling gives
// every member the same bits.
package engine
