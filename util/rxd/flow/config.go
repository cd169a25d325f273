package flow

import "errors"

// Errors of Flow.Dead.
var (
	// ErrTimeout says that the peer was not heard of for Config.PeerTimeout while something was wanted from it, or answered, but did not get even the shortest
	// datagrams with data for as long, though it had room.
	ErrTimeout = errors.New("flow: peer does not answer")
	// ErrReset says that the peer does not know the flow any more.
	ErrReset = errors.New("flow: reset by peer")
	// ErrClosed says that the peer closed the flow, and all it had sent was delivered.
	ErrClosed = errors.New("flow: closed by peer")
)

// Source gives the bytes to transmit: the connection of the operation engine, through an adapter.
type Source interface {
	// Next returns the next bytes not yet handed out, at most max bytes in at most cap(list) slices, and marks them handed out; they stay valid and
	// unchanged until Acked covers them.
	Next(list [][]byte, max int) ([][]byte, int)
	// Ready counts the bytes not handed out yet.
	Ready() int
	// Lent reports that some of what was handed out last is a user's buffer, whose operation waits for the acknowledgement.
	Lent() bool
	// Awaited reports that something depends on when Acked is called, or on what it is told before the sink gets what came with it. If not, it may be called later, but
	// for Quiet, which brings it.
	Awaited() bool
	// Acked says that the next n bytes of the stream have arrived and are released.
	Acked(n int)
}

// Sink takes the bytes that came.
type Sink interface {
	// Deliver brings the next bytes of the stream, borrowed for the call. All of them are taken. It may close the flow, but not call Poll.
	Deliver(b []byte)
	// Stalled reports that nothing is taken at the moment; Flow.Resume tells the end of that.
	Stalled() bool
}

// Config is what a flow is made with. It may be shared by many flows, and is kept; the fields of the peer are read by Init only.
type Config struct {
	// MaxDatagram is the largest datagram on the way to the peer, bytes, header included.
	MaxDatagram int
	// PeerMaxDatagram is the largest datagram that the peer receives, bytes, header included.
	PeerMaxDatagram int
	// RecvWindow is how many bytes beyond what was delivered the peer may send.
	RecvWindow uint32
	// PeerWindow is the window that the peer gave in the handshake, bytes.
	PeerWindow uint32
	// PeerTimeout is how long a peer may stay silent while something is wanted from it, nanoseconds; 0: forever.
	PeerTimeout int64
	// KeepAlive is after what silence of an idle peer a probe asks whether it is there, nanoseconds; 0: never.
	KeepAlive int64
	// Linger is how long an idle flow keeps its memory, nanoseconds; 0: LingerDefault.
	Linger int64
	// Pool gives memory while a flow is busy.
	Pool *Pool
}

func (c *Config) linger() int64 {
	if c.Linger > 0 {
		return c.Linger
	}
	return LingerDefault
}

// LingerDefault is how long an idle flow keeps its rings, nanoseconds: long enough for a program that sends now and then not to notice.
const LingerDefault = 500e6

// Times, nanoseconds. The path of a fabric is shorter than that of the Internet, therefore they are shorter than in the RFCs that they come from.
const (
	ackDelayMax = 1e6   // a delayed acknowledgement leaves at the latest
	rtoMin      = 1e6   // RFC 6298 (2.4) says a second
	ptoSlack    = 100e3 // of the tail loss probe, for cores that are busy
	rtoMax      = 1e9   // RFC 6298 (2.5) allows a limit
	rtoFirst    = 10e6  // before the first sample: RFC 6298 (2.1) says a second
	delayUnit   = 8e3   // of wire.XHeader.AckDelay
)

// Limits.
const (
	maxSegments   = 16384    // in flight
	maxSpans      = 1024     // of data with holes between
	ackEveryBytes = 32 << 10 // an acknowledgement leaves after so much data at the latest, or after two full segments if that is more
	backoffMax    = 10
)

// tries is how many of the longest intervals between questions to a silent peer there are in the time after which it is given up. It may be a quarter of that before
// the first question leaves (Expect): 24 are asked at least. A path that loses 30 % each way leaves half of them without an answer, 24 in a row once in ten million
// times.
const tries = 32

// Seldom is the longest time between questions to a silent peer that is given up after timeout (0: never), but for that of one round trip; nanoseconds.
func Seldom(timeout int64) int64 {
	if timeout > 0 {
		return min(rtoMax, timeout/tries)
	}
	return rtoMax
}
