// Registration of sources: sockets in the poller, streams that every pass reads, and deadlines without a socket.

package progress

import (
	"os"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/queue"
)

// Handle is a socket's registration with an Engine. Its methods need the Engine's lock.
type Handle struct {
	e         *Engine
	fd        netx.FD
	src       Source
	slot      int
	gen       uint32
	list      *[]*Handle // Engine.streams or Engine.memory, nil if the handle is in neither
	place     int        // index in list
	want      netx.Events
	detached  bool        // taken out of the poller: passes read it
	direct    bool        // a Director (stream in memory) was told that passes read it
	timer     queue.Place // in Engine.timers, while it has a deadline
	candidate bool        // see MayBecomeStream
	marked    bool        // in Engine.marks; its mutex guards it
}

// Register adds a socket. Passes read a stream directly while there are few. Any other socket, such as a listener,
// is served only when the poller reports it. Locked.
func (e *Engine) Register(fd netx.FD, src Source, stream bool, want netx.Events) (*Handle, error) {
	h, err := e.register(fd, src, want)
	if err == nil && stream {
		h.join(&e.streams)
		if len(e.streams) > directMax {
			e.leaveDirect(e.streams)
		}
	}
	return h, err
}

// MayBecomeStream marks a socket that is not a stream yet, but may become one (BecomeStream). While there is such a
// socket, passes ask the poller more often (candidatesEvery). Locked.
func (h *Handle) MayBecomeStream() {
	h.candidate = true
	h.e.candidates++
}

// endCandidate ends MayBecomeStream.
func (h *Handle) endCandidate() {
	if h.candidate {
		h.candidate = false
		h.e.candidates--
	}
}

// BecomeStream makes a stream of a socket of MayBecomeStream. Locked.
func (h *Handle) BecomeStream() {
	if e := h.e; h.list == nil && h.slot >= 0 && e.slots[h.slot] == h {
		h.endCandidate()
		h.join(&e.streams)
		if len(e.streams) > directMax {
			e.leaveDirect(e.streams)
		}
	}
}

// RegisterMemory adds a stream whose bytes go through shared memory. Every pass reads it, for any number of
// such streams, so there should be few of them. The socket carries the rest, and wakes sleepers. Locked.
func (e *Engine) RegisterMemory(fd netx.FD, src Source, want netx.Events) (*Handle, error) {
	h, err := e.register(fd, src, want)
	if err == nil {
		h.join(&e.memory)
	}
	return h, err
}

func (e *Engine) register(fd netx.FD, src Source, want netx.Events) (*Handle, error) {
	if e.poller == nil {
		return nil, os.ErrInvalid // NewVirtual has no sockets
	}
	h := &Handle{e: e, fd: fd, src: src, want: want}
	e.takeSlot(h)
	if err := e.poller.Add(fd, want, h.token()); err != nil {
		e.slots[h.slot] = nil
		e.free = append(e.free, h.slot)
		return nil, err
	}
	return h, nil
}

// join adds h to a list of streams that passes read.
func (h *Handle) join(list *[]*Handle) {
	h.list, h.place = list, len(*list)
	*list = append(*list, h)
	h.e.direct = 0
}

// leave removes h from its list.
func (h *Handle) leave() {
	if h.list == nil {
		return
	}
	list := *h.list
	last := len(list) - 1
	list[h.place] = list[last]
	list[h.place].place = h.place
	list[last] = nil
	*h.list, h.list = list[:last], nil
	h.e.direct = 0 // there may be few now
}

// takeSlot gives h a slot among the registered handles.
func (e *Engine) takeSlot(h *Handle) {
	if n := len(e.free); n > 0 {
		h.slot = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		h.slot = len(e.slots)
		e.slots = append(e.slots, nil)
	}
	e.nextGen(h)
	e.slots[h.slot] = h
}

// becomeDirect takes the streams out of the poller, as every pass reads them. For a socket in a poller the kernel
// does work at each packet, on the sender's time: on loopback a twentieth of a ping-pong. Sockets of streams in
// memory stay in the poller. Their Directors are told that passes read the memory, so that the peer need not write
// to the socket. Locked.
func (e *Engine) becomeDirect(sockets bool) {
	for _, h := range e.memory {
		if d, ok := h.src.(Director); ok && !h.direct {
			h.direct = true
			d.Direct(true)
		}
	}
	if !sockets {
		return
	}
	for _, h := range e.streams {
		if !h.detached && h.want == netx.In && e.poller.Del(h.fd) == nil {
			h.detached = true
			if d, ok := h.src.(Director); ok {
				d.Direct(true)
			}
		}
	}
}

// leaveDirect puts the sockets of a list back into the poller, and tells Directors that passes no longer read them.
// Locked.
func (e *Engine) leaveDirect(list []*Handle) {
	e.direct = 0
	for i := len(list) - 1; i >= 0; i-- { // downwards: Lost may remove a handle from the list
		h := list[i]
		if h.detached {
			h.returnToPoller()
		}
		if h.direct {
			h.direct = false
			if err := h.src.(Director).Direct(false); err != nil {
				h.src.Lost(err)
			}
		}
	}
}

// returnToPoller puts the socket into the poller again.
func (h *Handle) returnToPoller() {
	h.detached = false
	var err error
	if d, ok := h.src.(Director); ok {
		err = d.Direct(false)
	}
	if err == nil {
		err = h.e.poller.Add(h.fd, h.want, h.token())
	}
	if err != nil {
		h.detached = true // it is not in the poller, and Remove must not take it out
		h.src.Lost(err)
	}
}

// nextGen gives h a generation of its own, so that a late event of a socket that had the slot before is recognized
// as stale.
func (e *Engine) nextGen(h *Handle) {
	e.gens++
	h.gen = e.gens
}

func (h *Handle) token() uint64 { return uint64(h.gen)<<32 | uint64(uint32(h.slot)) }

// Remove ends the registration. The owner closes the socket afterwards.
func (h *Handle) Remove() {
	e := h.e
	h.SetDeadline(0)
	if h.slot < 0 || e.slots[h.slot] != h {
		return
	}
	if !h.detached && h.fd != netx.NoFD {
		e.poller.Del(h.fd)
	}
	e.slots[h.slot] = nil
	e.free = append(e.free, h.slot)
	h.endCandidate()
	h.leave()
}

// Want sets the readiness that the poller reports.
func (h *Handle) Want(ev netx.Events) error {
	if ev == h.want {
		return nil
	}
	if h.detached {
		h.want = ev
		if ev&netx.In == 0 {
			h.returnToPoller() // passes do not read it any more
		}
		return nil
	}
	if err := h.e.poller.Mod(h.fd, ev, h.token()); err != nil {
		return err
	}
	h.want = ev
	return nil
}

// SetDeadline asks for a call of Expired at the given time. It replaces the deadline set before; 0 cancels it.
func (h *Handle) SetDeadline(at mono.Time) {
	e := h.e
	if at == 0 {
		e.timers.Remove(h.timer)
		return
	}
	e.timers.Set(at, h, &h.timer)
	if (e.armed || !e.auto) && e.timers.Min() == h { // otherwise the ticks serve it
		e.armDeadline(mono.Now())
	}
}

// Each calls f with every source. Locked.
func (e *Engine) Each(f func(Source)) {
	for _, h := range e.slots {
		if h != nil {
			f(h.src)
		}
	}
}

// Timer returns a Handle without a socket. f is called, with the lock held, at the time that SetDeadline sets.
// Locked.
func (e *Engine) Timer(f func(now mono.Time)) *Handle {
	return &Handle{e: e, fd: netx.NoFD, src: timerFunc{f}, slot: -1}
}

// After calls f at the given time, with the lock held. Remove of the Handle cancels it. Locked.
func (e *Engine) After(at mono.Time, f func(now mono.Time)) *Handle {
	h := e.Timer(f)
	h.SetDeadline(at)
	return h
}

// timerFunc is a Source without a socket.
type timerFunc struct{ f func(mono.Time) }

func (timerFunc) Ready(bool, bool)        {}
func (timerFunc) Poll()                   {}
func (timerFunc) Lost(error)              {}
func (t timerFunc) Expired(now mono.Time) { t.f(now) }
