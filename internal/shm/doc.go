// Package shm carries a stream of bytes each way between two processes of one host through memory that both have mapped: no system call, no packet, no copy
// in the kernel.
//
// An End is one process' side. Each direction is a ring with one writer and one reader. Nothing here blocks and nothing here wakes: beside the memory the two
// have a socket, and a byte on it, the bell, tells the other to look. Whether one is needed the words in the memory say:
//
//	awake   the reader looks by itself, again and again: no bell (SetAwake)
//	rung    the bell was rung for it and it has not looked since: once is enough
//	want    the writer found no room and wants the bell when there is some
//
// A direction can carry records instead, datagrams beside those that go through a socket of their own (record.go).
//
// Each says its own first and then looks at the other's (a reader that goes to sleep clears awake and looks at the ring once more; a writer that has written
// looks at awake), and the operations of sync/atomic are sequentially consistent, so that one of the two sees the other's.
//
// The peer may be anybody: another user's process, broken or hostile. It can write what it likes at any time. So positions read from the memory are checked
// against those of one's own, which are not kept there; what is wrong is ErrBroken. Bytes are copied out before anybody parses them. And the memory
// cannot be taken away: it is a memfd sealed against shrinking (memfd_create(2), F_ADD_SEALS), all of it allocated before it is passed on.
package shm
