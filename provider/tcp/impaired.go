package tcp

import (
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// Streams over an imperfect network, which a layer puts between them and their sockets (stream.Impairable). What has come waits in the socket until it may be
// taken, so that it is the system that bounds it, and that keeps the peer from sending more. A stream without faults has a nil pointer to look at.

var (
	_ stream.Impairable = (*fabric)(nil)
	_ stream.Impaired   = (*domain)(nil)
)

// Impair implements stream.Impairable.
func (f *fabric) Impair(info *core.Info, x stream.Impairer) error {
	if f.faults != nil {
		return opError("fi_fabric", info.Fabric.ProvName, noPeer, core.ErrInval, "one layer of faults stands on connections, not two")
	}
	f.InitFabric(&names, info)
	f.faults = x
	f.cfg = f.config(1)
	return nil
}

// config is what the engine needs of the settings, an endpoint's attributes, and the faults.
func (f *fabric) config(txSize int) *engine.Config {
	c := f.p.s.config(txSize)
	if f.faults != nil {
		c.CMA = nil
	}
	return c
}

// Faults implements stream.Impaired.
func (d *domain) Faults() (sum impair.StreamStats, ok bool) {
	if d.bufs.faults == nil {
		return sum, false
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	sum = d.bufs.gone
	d.prog.Each(func(s progress.Source) {
		if st, ok := s.(*tcpStream); ok && st.impairment != nil {
			sum.Add(st.impairment.w.Stats())
		}
	})
	return sum, true
}

// impairment is what stands between a stream and its socket.
type impairment struct {
	w     *impair.Stream
	s     *tcpStream
	timer *progress.Handle

	asked   bool // for when the connect is answered
	refused bool
	upAt    mono.Time
	takeAt  mono.Time     // nothing is received before; 0 no such time is known
	sendAt  mono.Time     // nothing is sent before
	pause   time.Duration // after this send
}

// raise puts a impairment in front of the socket, or has the one there is follow the stream to another engine.
func (s *tcpStream) raise() {
	if s.impairment == nil {
		s.impairment = &impairment{s: s, w: s.bufs.faults.Stream(s.bufs.patience)}
	}
	h := s.impairment
	h.timer = s.prog.Timer(h.expired)
	h.setTimer()
}

// lower takes the timer away.
func (h *impairment) lower() {
	if h.timer != nil {
		h.timer.Remove()
		h.timer = nil
	}
}

// setTimer sets the timer for what comes next. What the stream does not take, for now or for ever, needs none: setWant sets it again when that changes.
func (h *impairment) setTimer() {
	at := h.sendAt
	if h.s.takes() {
		at = mono.Earlier(h.takeAt, h.sendAt)
	}
	if h.s.conn.State() == engine.Opening {
		at = h.upAt
	}
	if at == mono.Never {
		at = 0
	}
	if h.timer != nil {
		h.timer.SetDeadline(at)
	}
}

// expired is the timer.
func (h *impairment) expired(now mono.Time) {
	s := h.s
	if s.fd == netx.NoFD || s.h == nil {
		return
	}
	if s.conn.State() == engine.Opening {
		s.Ready(false, true)
		return
	}
	if h.sendAt.Due(now) {
		s.flush()
	}
	if s.fd != netx.NoFD && h.takeAt.Due(now) {
		s.receive()
	}
	h.setTimer()
}

// answered says whether a connect that the system has made has been answered.
func (h *impairment) answered() bool {
	now := mono.Now()
	if !h.asked {
		h.asked = true
		h.upAt, h.refused = h.w.Connect(now)
	}
	if now < h.upAt {
		h.s.h.Want(netx.Edge)
		h.setTimer()
		return false
	}
	if h.refused {
		h.s.failCall("connect", unix.ECONNREFUSED)
		return false
	}
	return true
}

// end ends the stream as w has ended.
func (h *impairment) end(call string, end impair.End) {
	errno := unix.ECONNRESET
	if end == impair.TimedOut {
		errno = unix.ETIMEDOUT
	}
	s := h.s
	if s.fd != netx.NoFD && errno == unix.ECONNRESET {
		netx.SetLinger(s.fd, 0) // the peer hears of it
	}
	s.conn.Fail(&socketError{call, errno})
}

// mayTake returns how many bytes may be received now, with more of them in sight if they were cut.
func (h *impairment) mayTake() int {
	s, waiting := h.s, 1
	now := mono.Now()
	if h.w.Timed() {
		waiting = netx.Waiting(s.fd)
		h.w.Arrived(now, waiting)
	}
	n, again, end := h.w.MayTake(now)
	if end != impair.Alive {
		h.end("recv", end)
		return 0
	}
	if n == 0 && waiting == 0 && again == mono.Never {
		n = 1 // the end of the stream, perhaps
	}
	if n == 0 {
		h.take(again)
		return 0
	}
	h.take(0)
	return h.w.Cut(n)
}

// take notes when there is something to receive.
func (h *impairment) take(at mono.Time) {
	if at != h.takeAt {
		h.takeAt = at
		h.setTimer()
		h.s.setWant()
	}
}

// maySend says whether anything may be sent now. If not, the stream is blocked.
func (h *impairment) maySend() bool {
	s, now := h.s, mono.Now()
	ok, again, end := h.w.MaySend(now)
	if end != impair.Alive {
		h.end("send", end)
		return false
	}
	if ok && now < h.sendAt {
		return false
	}
	was := h.sendAt
	if h.sendAt = again; h.sendAt != was {
		h.setTimer()
	}
	if ok {
		if was != 0 {
			s.blocked = false
			s.setWant()
		}
		return true
	}
	s.becomeBlocked(true)
	return false
}

// cut shortens a send.
func (h *impairment) cut(first []byte, list [][]byte) ([]byte, [][]byte) {
	n := len(first)
	for _, b := range list {
		n += len(b)
	}
	k := h.w.Cut(n)
	if k == n {
		return first, list
	}
	h.pause = h.w.Pause()
	return upTo(k, first, list)
}

// paused says whether the rest of a send that was cut is to follow later.
func (h *impairment) paused() bool {
	if h.pause == 0 {
		return false
	}
	h.sendAt, h.pause = mono.Now().Add(h.pause), 0
	h.setTimer()
	return true
}
