// Package schedule has the schedules of collective operations (fi_collective(3)): which member sends what to which
// other member, what it receives, and what it computes, in which order.
//
// An Op is a program of a few kinds of instructions (program.go). It is planned when the operation starts, by an
// algorithm that suits the number of members and the size of the data:
//
//	barrier          dissemination
//	broadcast        binomial tree; large: scatter, then a ring
//	reduce           binomial tree; large: reduce-scatter, then every member sends its block to the root
//	allreduce        recursive doubling; large: reduce-scatter, then allgather (Rabenseifner for powers of two,
//	                 otherwise rings)
//	reduce-scatter   as allreduce without its second half
//	allgather        Bruck; large: a ring
//	gather, scatter  binomial tree; large, or with few members: the root sends to or receives from each member
//	all to all       each member with each other one, a few at a time
//
// The algorithms are those of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations
// in MPICH" (2005).
//
// The driver executes sends and receives and reports when each has finished. An Op does the arithmetic. A step
// number distinguishes the messages of one operation between two members, so that a message may arrive before it is
// expected.
//
// Recursive doubling gives every member the same bits, because it combines consecutive ranks in the same order
// everywhere. Other reductions keep the order of ranks where that costs nothing.
package schedule
