package tcp

import (
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/samehost"
	"syscall"
)

// shmCarriersMax is the largest number of shared memories of a domain, because every pass reads all of them. For
// further peers on this host, sockets are fast enough.
const shmCarriersMax = 32

// shmCarrier is memory that two processes share, and a local socket between them. The socket carries only
// doorbells, which are bytes without a meaning. When the socket ends, the peer has ended.
//
// While every pass polls the stream (progress.Director), neither end makes a system call, except that the poller
// checks now and then whether the peer has ended. Otherwise the carrier sleeps. settle keeps the invariant of
// sleep, that no byte can be missed: the stream does not receive, or the peer's next write rings the doorbell, or
// the registration was notified.
type shmCarrier struct {
	*samehost.Conn
	mover *mover // counts the domain's memories
	h     *progress.Handle
	polls bool // every pass calls receive

	receiving, blocked bool // arguments of the last watch
}

// transmit copies bytes into the memory. It rings the doorbell only if the peer does not poll.
func (c *shmCarrier) transmit(first []byte, list [][]byte) (total int, errno syscall.Errno) {
	if c.Ended() {
		return 0, syscall.EPIPE // the memory would still have room
	}
	var err error
	if first != nil {
		total, err = c.Write(first)
	}
	for _, b := range list {
		var n int
		n, err = c.Write(b)
		total += n
		if err != nil || n < len(b) {
			break
		}
	}
	switch {
	case err != nil:
		return 0, syscall.EPROTO
	case total > 0:
		if c.DoorbellAfterWrite() {
			c.Ring()
		}
		return total, 0
	}
	switch full, err := c.WantRoom(); {
	case err != nil:
		return 0, syscall.EPROTO
	case full:
		return 0, syscall.EAGAIN
	}
	return 0, syscall.EINTR // there is room by now, so the stream tries again
}

// receive copies bytes out of the memory. It rings the doorbell only if the peer waits for room and does not poll.
func (c *shmCarrier) receive(target, head []byte) (total int, more bool, errno syscall.Errno) {
	var err error
	if len(target) > 0 {
		total, err = c.Read(target)
	}
	if total == len(target) && err == nil {
		var n int
		n, err = c.Read(head)
		total += n
	}
	switch {
	case err != nil:
		return 0, false, syscall.EPROTO
	case total > 0:
		if c.DoorbellAfterRead() {
			c.Ring()
		}
		return total, c.Ended() || total == len(target)+len(head), 0
	case c.Ended():
		return 0, false, 0
	}
	return 0, false, syscall.EAGAIN
}

func (c *shmCarrier) register(prog *progress.Engine, bufs *buffers, src progress.Source, _ bool) (h *progress.Handle, err error) {
	h, err = prog.RegisterMemory(c.FD(), src, netx.In)
	if err == nil {
		c.h = h
	}
	return h, err
}

func (c *shmCarrier) detach() { c.h = nil }

func (c *shmCarrier) watch(receive, transmit bool) error {
	c.receiving, c.blocked = receive, transmit
	want := netx.Edge // as for sockets
	if receive || transmit && !c.Ended() {
		want = netx.In // a doorbell stands for either
	}
	if err := c.h.Want(want); err != nil {
		return err
	}
	c.settle()
	return nil
}

// ready takes the doorbells and notes the peer's end. Bytes written before the end are received first.
func (c *shmCarrier) ready(in, out bool) (receive, transmit bool) {
	if !in {
		return in, out
	}
	c.TakeDoorbells()
	return true, true // a doorbell may be for either
}

// direct tells the peer through the memory whether this end polls, so that it omits doorbells.
func (c *shmCarrier) direct(on bool) {
	c.polls = on
	c.SetPolling(on)
	if c.h != nil {
		c.settle()
	}
}

// settle notifies the stream of bytes or room in the memory, unless the stream polls. No doorbell follows for a
// state that exists already.
func (c *shmCarrier) settle() {
	if c.polls {
		return
	}
	if c.blocked {
		if full, err := c.WantRoom(); !full || err != nil {
			c.h.Notify()
			return
		}
	}
	if !c.receiving {
		return
	}
	if n, err := c.Unread(); n > 0 || err != nil || c.Ended() {
		c.h.Notify()
	}
}

// connected is never called, because there is no connect.
func (*shmCarrier) connected() (bool, error) { return true, nil }

// delivery: bytes in the memory reach the peer even if this process ends. A peer that has ended receives none.
func (*shmCarrier) delivery() delivery { return delivery{} }

func (c *shmCarrier) socket() netx.FD { return c.FD() }

// can reports single copies and the memory. The poller watches the socket for the peer's end.
func (c *shmCarrier) can() abilities { return abilities{singleCopy: true, memory: c.Rings} }

func (*shmCarrier) String() string { return "shared memory" }

func (c *shmCarrier) close(bool) { c.mover.drop(c.Conn) }
