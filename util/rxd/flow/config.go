package flow

import "errors"

// Errors of Flow.Dead.
var (
	// ErrTimeout: the peer sent nothing for Config.PeerTimeout while the flow waited for an acknowledgement or an
	// answer. It is also the error of a path that is not usable: the peer answers and has room, but does not
	// receive even the shortest datagrams with data for as long (Flow.pathUnusable).
	ErrTimeout = errors.New("flow: peer does not answer")
	// ErrReset: the peer sent a reset, which says that it has given up the flow.
	ErrReset = errors.New("flow: reset by peer")
	// ErrClosed: the peer closed the flow, and everything it had sent was delivered.
	ErrClosed = errors.New("flow: closed by peer")
)

// Source supplies the bytes to transmit. It is the connection of the operation engine (internal/xnet/engine),
// behind an adapter in util/rxd/session.
type Source interface {
	// Next returns the next bytes of the stream, at most max bytes in at most cap(list) slices, and marks them as
	// taken. The slices stay valid and unchanged until Acked covers them, because the flow may have to send them
	// again.
	Next(list [][]byte, max int) ([][]byte, int)
	// Ready returns how many bytes Next can still return.
	Ready() int
	// Lent reports whether the bytes that Next returned last include a buffer of the application. Its operation
	// completes only when the peer acknowledges it, so the flow asks for that acknowledgement at once.
	Lent() bool
	// Awaited reports whether the order matters in which Acked and the sink's Deliver are called for one datagram,
	// or an operation completes with Acked. If not, the flow may call Acked later, at PassDone at the latest.
	Awaited() bool
	// Acked says that the peer has the next n bytes of the stream. The flow no longer uses them.
	Acked(n int)
}

// Sink receives the bytes of the peer's stream.
type Sink interface {
	// Deliver brings the next bytes of the stream. The sink must take all of them. It may use b during the call
	// only. It may close the flow, but must not call Poll.
	Deliver(b []byte)
	// Stalled reports that the sink takes no bytes at present, because its budget for unexpected messages is used
	// up. The flow then closes its window until the owner calls Flow.Resume.
	Stalled() bool
}

// Config has the parameters of a flow. Many flows may share one, and a flow keeps the pointer. Only Init reads the
// fields about the peer.
type Config struct {
	// MaxDatagram is the size of the largest datagram that the path to the peer carries, in bytes, header included.
	MaxDatagram int
	// PeerMaxDatagram is the size of the largest datagram that the peer receives, in bytes, header included.
	PeerMaxDatagram int
	// RecvWindow is the window that the flow advertises: how many bytes behind the last delivered one the peer may
	// send.
	RecvWindow uint32
	// PeerWindow is the window that the peer advertised in the handshake, in bytes.
	PeerWindow uint32
	// PeerTimeout is how long the flow waits for a silent peer that owes an acknowledgement or an answer, in
	// nanoseconds. 0: forever.
	PeerTimeout int64
	// KeepAlive is the time without a datagram after which an idle peer is probed, in nanoseconds. 0: never.
	KeepAlive int64
	// Linger is how long an idle flow keeps its buffers, in nanoseconds. 0: LingerDefault.
	Linger int64
	// Pool provides the memory of busy flows.
	Pool *Pool
}

// linger returns Linger or its default.
func (c *Config) linger() int64 {
	if c.Linger > 0 {
		return c.Linger
	}
	return LingerDefault
}

// LingerDefault is the default of Config.Linger, in nanoseconds. A program that sends a few times per second must
// not pay for new buffers each time.
const LingerDefault = 500e6

// Times in nanoseconds. The path of a fabric is shorter than that of the Internet, therefore they are shorter than
// in the RFCs.
const (
	ackDelayMax = 1e6   // longest delay of an acknowledgement; RFC 1122, 4.2.3.2 allows 0.5 s
	rtoMin      = 1e6   // least retransmission time-out; RFC 6298 (2.4) recommends 1 s
	ptoSlack    = 100e3 // added to the probe time-out: a busy core answers late
	rtoMax      = 1e9   // greatest retransmission time-out; RFC 6298 (2.5) allows one
	rtoFirst    = 10e6  // before the first round trip sample; RFC 6298 (2.1) says 1 s
	delayUnit   = 8e3   // unit of wire.XHeader.AckDelay
)

// Limits that keep a flow's state small.
const (
	maxSegments = 16384 // segments in flight
	maxSpans    = 1024  // separate spans of data behind holes
	// An acknowledgement leaves after this many bytes at the latest, or after two full segments if they are longer.
	// RFC 5681, 4.2 demands one for every two segments, but a datagram here may carry 64 KiB, and fewer
	// acknowledgements cost less.
	ackEveryBytes = 32 << 10
	backoffMax    = 10 // doublings of the retransmission time-out
)

// probesPerTimeout is PeerTimeout divided by the longest interval between probes. The first probe may leave only
// after a quarter of PeerTimeout (Flow.Expect), so at least 24 are sent before the peer is given up. On a path that
// loses 30 % of the datagrams each way half of the probes stay unanswered. 24 unanswered ones in a row happen once
// in ten million times.
const probesPerTimeout = 32

// MaxProbeInterval is the longest interval between probes of a silent peer that is given up after timeout
// nanoseconds (0: never), in nanoseconds. A round trip that is longer makes the interval longer.
func MaxProbeInterval(timeout int64) int64 {
	if timeout > 0 {
		return min(rtoMax, timeout/probesPerTimeout)
	}
	return rtoMax
}
