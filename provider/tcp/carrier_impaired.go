package tcp

import (
	"syscall"
	"time"

	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/stream"
)

var (
	_ stream.Impairable = (*fabric)(nil)
	_ stream.Impaired   = (*domain)(nil)
)

// Impair implements stream.Impairable.
func (f *fabric) Impair(info *core.Info, x stream.Impairer) error {
	if f.faults != nil {
		return opError("fi_fabric", info.Fabric.ProvName, noPeer, core.ErrInval, "a provider string can name the layer fault once")
	}
	f.InitFabric(&names, info)
	f.faults = x
	f.cfg = f.config(1)
	return nil
}

// Faults implements stream.Impaired.
func (d *domain) Faults() (sum impair.StreamStats, ok bool) {
	if d.bufs.faults == nil {
		return sum, false
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	sum = d.bufs.closedStats
	d.prog.Each(func(s progress.Source) {
		if st, ok := s.(*tcpStream); ok && st.carrier != nil {
			if c, ok := st.carrier.(*impairedCarrier); ok {
				sum.Add(c.faults.Stats())
			}
		}
	})
	return sum, true
}

// impairedCarrier is a TCP connection over a faulty network, which the layer fault (util/fault) simulates. Received
// bytes wait in the socket until the simulated network has delivered them. The socket's buffer therefore bounds
// them, and flow control stops the peer (RFC 9293, 3.8.6).
type impairedCarrier struct {
	tcpCarrier
	faults *impair.Stream
	bufs   *buffers
	src    progress.Source
	timer  *progress.Handle

	connecting bool
	answered   bool // the system has answered the connect, and connectAt is set
	refused    bool
	connectAt  mono.Time // when the simulated network answers the connect

	receiving, blocked bool      // arguments of the last watch
	receiveAt          mono.Time // no bytes are received before; 0: no such time is known
	sendAt             mono.Time // no bytes are sent before
}

// newImpairedCarrier makes the carrier of a socket with a simulated network of its own.
func newImpairedCarrier(b *buffers, fd netx.FD) *impairedCarrier {
	return &impairedCarrier{tcpCarrier: tcpCarrier{socketCarrier{fd: fd}}, faults: b.faults.Stream(b.patience), bufs: b}
}

func (c *impairedCarrier) register(prog *progress.Engine, bufs *buffers, src progress.Source, connecting bool) (*progress.Handle, error) {
	h, err := c.tcpCarrier.register(prog, bufs, src, connecting)
	if err == nil {
		c.bufs, c.src, c.connecting = bufs, src, connecting
		c.receiving, c.blocked = !connecting, false // the state after a registration
		c.timer = prog.Timer(c.expired)
		c.setTimer()
	}
	return h, err
}

func (c *impairedCarrier) detach() {
	c.tcpCarrier.detach()
	if c.timer != nil {
		c.timer.Remove()
		c.timer = nil
	}
}

// setTimer sets the timer to the next deadline. While the stream does not receive, received bytes have no deadline.
// watch sets the timer again when the stream receives.
func (c *impairedCarrier) setTimer() {
	at := c.sendAt
	if c.receiving {
		at = mono.Earlier(c.receiveAt, c.sendAt)
	}
	if c.connecting {
		at = c.connectAt
	}
	if at == mono.Never {
		at = 0
	}
	if c.timer != nil {
		c.timer.SetDeadline(at)
	}
}

// expired is called by the timer.
func (c *impairedCarrier) expired(now mono.Time) {
	if c.h == nil {
		return
	}
	in, out := c.receiving && c.receiveAt.Due(now), c.connecting || c.sendAt.Due(now)
	if in {
		c.receiveAt = 0
	}
	if c.sendAt.Due(now) {
		c.sendAt = 0
	}
	if !c.connecting {
		c.watch(c.receiving, c.blocked)
	}
	c.src.Ready(in, out)
	c.setTimer()
}

// watch reports bytes that may not be received yet only once, so that the poller does not report them all the time.
func (c *impairedCarrier) watch(receive, transmit bool) error {
	c.receiving, c.blocked = receive, transmit
	c.setTimer()
	var want netx.Events
	if receive {
		want |= netx.In
	}
	if c.receiveAt != 0 {
		want |= netx.Edge
	}
	if transmit && c.sendAt == 0 {
		want |= netx.Out
	}
	return c.want(want)
}

// connected delays the answer of a connect by the simulated network's time.
func (c *impairedCarrier) connected() (bool, error) {
	now := mono.Now()
	if !c.answered {
		c.answered = true
		c.connectAt, c.refused = c.faults.Connect(now)
	}
	if now < c.connectAt {
		err := c.want(netx.Edge)
		c.setTimer()
		return false, err
	}
	c.connecting = false
	if c.refused {
		return false, syscall.ECONNREFUSED
	}
	return c.tcpCarrier.connected()
}

// errno returns the error of the stream for an end of the simulated connection.
func (c *impairedCarrier) errno(end impair.End) syscall.Errno {
	if end == impair.TimedOut {
		return syscall.ETIMEDOUT
	}
	netx.SetLinger(c.fd, 0) // so that the peer sees a reset, too
	return syscall.ECONNRESET
}

// receive receives only as many bytes as the simulated network has delivered by now.
func (c *impairedCarrier) receive(target, head []byte) (n int, more bool, errno syscall.Errno) {
	limit, errno := c.mayReceive()
	if errno != 0 {
		return 0, false, errno
	}
	if target != nil {
		target = target[:min(len(target), limit)]
	}
	head = head[:min(len(head), limit-len(target))]
	if n, more, errno = c.tcpCarrier.receive(target, head); errno == 0 {
		c.faults.Received(n)
	}
	return n, more, errno
}

// mayReceive returns the number of bytes that may be received now, or syscall.EAGAIN if there are none.
func (c *impairedCarrier) mayReceive() (int, syscall.Errno) {
	now, unread := mono.Now(), 1
	if c.faults.Timed() {
		unread = netx.Waiting(c.fd)
		c.faults.Arrived(now, unread)
	}
	n, again, end := c.faults.MayReceive(now)
	if end != impair.Alive {
		return 0, c.errno(end)
	}
	if n == 0 && unread == 0 && again == mono.Never {
		n = 1 // it may be the end of the stream
	}
	if n == 0 {
		c.setReceiveAt(again)
		return 0, syscall.EAGAIN
	}
	c.setReceiveAt(0)
	return c.faults.Cut(n), 0
}

// setReceiveAt sets the time of the next receive and watches the socket accordingly.
func (c *impairedCarrier) setReceiveAt(at mono.Time) {
	if at == c.receiveAt {
		return
	}
	c.receiveAt = at
	if c.h != nil {
		c.watch(c.receiving, c.blocked)
	}
}

// transmit sends only as many bytes as the simulated network takes now.
func (c *impairedCarrier) transmit(first []byte, list [][]byte) (n int, errno syscall.Errno) {
	now := mono.Now()
	ok, again, end := c.faults.MaySend(now)
	switch {
	case end != impair.Alive:
		return 0, c.errno(end)
	case ok && now < c.sendAt:
		return 0, syscall.EAGAIN
	}
	c.setSendAt(again)
	if !ok {
		return 0, syscall.EAGAIN
	}
	first, list, pause := c.cut(first, list)
	n, errno = c.tcpCarrier.transmit(first, list)
	if errno == 0 && pause > 0 {
		c.setSendAt(now.Add(pause))
	}
	return n, errno
}

// setSendAt sets the time of the next transmission and watches the socket accordingly.
func (c *impairedCarrier) setSendAt(at mono.Time) {
	if at == c.sendAt {
		return
	}
	c.sendAt = at
	if c.h != nil {
		c.watch(c.receiving, c.blocked)
	}
}

// cut shortens the bytes to send. It returns how long the rest must wait.
func (c *impairedCarrier) cut(first []byte, list [][]byte) ([]byte, [][]byte, time.Duration) {
	n := len(first)
	for _, b := range list {
		n += len(b)
	}
	k := c.faults.Cut(n)
	if k == n {
		return first, list, 0
	}
	first, list = upTo(k, first, list)
	return first, list, c.faults.Pause()
}

func (*impairedCarrier) can() abilities { return impairedAbilities }

// impairedAbilities are none: no byte may bypass the simulated network.
var impairedAbilities abilities

func (*impairedCarrier) String() string { return "TCP with faults" }

func (c *impairedCarrier) close(reset bool) {
	c.bufs.closedStats.Add(c.faults.Stats())
	c.tcpCarrier.close(reset)
}
