// Package chaos has processes exchange all kinds of operations while they are killed, stopped, closed and cut off, and accounts for every message.
//
// A fleet is six nodes, which send each other messages of 1 byte to 4 MiB, untagged and tagged, at every completion level, write into each other's memory and read
// it back, and add to each other's sums; and a box, which receives through the root package what short-lived couriers bring. Each writes down in a journal what it
// posts, what completes, and what it receives; journals outlive processes, and the audit reads them. What must not be lost is what docs/completion.md says. Content
// follows from the name of a message, which travels as tag or as remote CQ data. Every buffer is written over the moment it is handed back: with its completion,
// when an inject returns, when a close ends what was under way. Receive buffers must not change until they are posted again.
//
// A schedule, which follows from the seed, has nodes killed, stopped for less and for more than their peers bear, exit without closing, close everything in good
// order and open again at the same address, in the same process or in another one, and shut connections down; it takes the link down and up, connects sockets that say
// half of something, takes descriptors (RLIMIT_NOFILE) and memory away (the Go runtime's soft limit, which makes it collect all the time: a hard one ends the process,
// which is a kill). Readers are up to a second late, and cancel. Carriers of a stack are memory, sockets, a cable between two network namespaces (veth; nodes in one of
// them share memory), AF_XDP (xdp), and the layer of faults (fault). Only root has veth and xdp.
//
// By itself it is a few seconds. TestStacks runs each stack for GOFABRIC_CHAOS (2m with GOFABRIC_MANY=1), all its carriers in turn, and prints a table of what happened and
// what went wrong, also when it fails; each carrier takes some 7 s more to start and to settle, two minutes for all. GOFABRIC_CHAOS_SEED=n has another schedule,
// GOFABRIC_CHAOS_STACK is a stack, or a stack and a carrier, "tcp/rdm@veth". FI_* variables reach the processes. The flags -only, -first and -journals help to find out why.
//
// TestMutations breaks three orderings of the code, one by one, and wants them to be noticed. TestNative has native libfabric at one end.
package chaos
