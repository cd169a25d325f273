// Package shm carries a stream of bytes each way between two processes of one host through memory that both have mapped: no system call, no packet, no copy
// in the kernel.
//
// Rings are one process' side. Each direction is a ring with one producer and one consumer. Nothing here blocks or wakes: beside the memory the two processes
// have a local socket, and a byte on it, the doorbell, tells the other to look at the memory. Three words per direction say whether one is needed:
//
//	polls     the consumer polls the ring: it needs no doorbell (SetPolling)
//	rung      the doorbell was sent to the consumer, and it has not looked since: one is enough
//	wantRoom  the producer found no room, and wants the doorbell when there is some
//
// A direction can carry records instead: datagrams beside those that go through a socket of their own (records.go).
//
// Each side writes its own word first and reads the other's afterwards: a consumer that goes to sleep clears polls and looks at the ring once more; a producer
// that has written reads polls. The operations of sync/atomic are sequentially consistent, so that one of the two sees what the other has written.
//
// The peer can be broken or hostile, and can write anything at any time. So positions read from the memory are checked against this side's own, which are not
// kept in it; an impossible one is ErrBroken. Bytes are copied out before they are parsed. And the memory cannot be taken away: it is a memfd, sealed against
// shrinking (memfd_create(2), F_ADD_SEALS), with all pages allocated before it is passed on.
package shm
