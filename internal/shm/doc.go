// Package shm carries a stream of bytes in each direction between two processes of one host, through memory that
// both have mapped. No system call, packet or copy in the kernel is needed.
//
// Rings are one process' side. Each direction is a ring with one producer and one consumer. No function of this
// package blocks or wakes. Beside the memory the two processes have a local socket. A byte on it, the doorbell,
// makes the other process read the memory. Three words per direction say whether a doorbell is needed:
//
//	polls     the consumer polls the ring and needs no doorbell (SetPolling)
//	rung      the doorbell was sent to the consumer, which has not read the ring since; no other is needed
//	wantRoom  the producer found no room, and wants the doorbell when there is some
//
// A direction can carry records instead: datagrams beside those that go through a socket of their own (records.go).
//
// Each side first writes its own word, and then reads the other's. A consumer that goes to sleep clears polls, and
// reads the ring once more. A producer that has written reads polls. The operations of sync/atomic are sequentially
// consistent, so at least one of the two sees the other's write.
//
// The peer can be broken or hostile, and can write anything at any time. Positions read from the memory are
// therefore checked against this side's own, which are kept outside of it; an impossible one is ErrBroken. Bytes
// are copied before they are parsed. The memory cannot be taken away: it is a memfd, sealed against shrinking
// (memfd_create(2), F_ADD_SEALS), and all pages are allocated before it is passed on.
package shm
