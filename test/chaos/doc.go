// Package chaos tests that no message is lost. Processes exchange all kinds of operations while they are killed,
// stopped, closed and disconnected, and the test accounts for every message.
//
// A fleet is six nodes, a server, and clients. The nodes send each other messages of 1 byte to 4 MiB, untagged and
// tagged, at every completion level. They write into each other's memory, read it back, and add to each other's sums.
// The server receives through the root package what short-lived clients send. Each process writes a journal of what it
// posts, what completes, and what it receives. Journals outlive processes, and the audit reads them.
// docs/completion.md says which messages must arrive. The content of a message follows from its name, which travels as
// tag or as remote CQ data. Every buffer is overwritten as soon as it is handed back: with its completion, when an
// inject returns, or when a close ends pending operations. Receive buffers must not change until they are posted
// again.
//
// A schedule follows from the seed. It kills nodes, and stops them for shorter and for longer than their peers wait.
// Nodes exit without closing. They close everything in good order and open again at the same address, in the same
// process or in another one, and they shut connections down. The schedule also takes the link down and up, opens
// connections that send half of something, takes all descriptors (RLIMIT_NOFILE), and lowers the Go runtime's soft
// memory limit, so that it collects garbage all the time. (A hard limit would end the process, which is a kill.)
// Readers are up to a second late, and cancel operations.
//
// The carriers of a stack are shared memory, sockets, a veth pair between two network namespaces (veth; nodes in one
// of them share memory), AF_XDP (xdp), and the fault layer (fault). veth and xdp need root.
//
// Without settings the test takes a few seconds. TestStacks runs each stack for GOFABRIC_CHAOS (2m with
// GOFABRIC_MANY=1), with all its carriers in turn. It prints a table of what happened and what went wrong, also when
// it fails. Each carrier takes about 7 s more to start and to settle, two minutes for all. GOFABRIC_CHAOS_SEED=n
// selects another schedule. GOFABRIC_CHAOS_STACK is a stack, or a stack and a carrier, "tcp/rdm@veth". The processes
// inherit FI_* variables. The flags -only, -first and -journals help to find the cause of a failure.
//
// TestMutations breaks three orderings of the code, one by one, and checks that a run notices each. TestNative has
// native libfabric at one end.
package chaos
