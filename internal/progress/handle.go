package progress

import (
	"os"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/queue"
)

// Handle is a socket's registration with an Engine. Its methods need the Engine's lock.
type Handle struct {
	e      *Engine
	fd     netx.FD
	src    Source
	slot   int
	gen    uint32
	list   *[]*Handle // Engine.streams or Engine.memory, nil if it is in neither
	place  int        // in it
	want   netx.Events
	out    bool        // taken out of the poller: passes read it
	told   bool        // of streams in memory: a Director that was told that passes read it
	timer  queue.Place // in Engine.timers, while it has a deadline
	aside  bool        // see StandAside
	marked bool        // in Engine.marks; its mutex guards it
}

// Register adds a socket. A stream is read directly while there are few; others (listeners) only when the poller says so. Locked.
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

// StandAside says of a socket that is no stream that it may become one: nobody knows yet whether it will ever be used. Locked.
func (h *Handle) StandAside() {
	h.aside = true
	h.e.aside++
}

// stepIn ends that.
func (h *Handle) stepIn() {
	if h.aside {
		h.aside = false
		h.e.aside--
	}
}

// BecomeStream makes a socket a stream that has stood aside. Locked.
func (h *Handle) BecomeStream() {
	if e := h.e; h.list == nil && h.slot >= 0 && e.slots[h.slot] == h {
		h.stepIn()
		h.join(&e.streams)
		if len(e.streams) > directMax {
			e.leaveDirect(e.streams)
		}
	}
}

// RegisterMemory adds a stream whose bytes go through memory: every pass reads it, however many there are, so its owner should have few. The socket is for the
// rest, and for those who sleep. Locked.
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

// join puts h into a list of those that passes read.
func (h *Handle) join(list *[]*Handle) {
	h.list, h.place = list, len(*list)
	*list = append(*list, h)
	h.e.direct = 0
}

// leave takes it out.
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

// takeSlot gives h a place among the registered.
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

// becomeDirect takes the streams out of the poller, for every pass reads them: a poller is told of each packet by the kernel, on the sender's time.
// On loopback that is a twentieth of a ping-pong. Streams in memory stay there, where nothing comes for them, as they hear now that they are read. Locked.
func (e *Engine) becomeDirect(sockets bool) {
	for _, h := range e.memory {
		if d, ok := h.src.(Director); ok && !h.told {
			h.told = true
			d.Direct(true)
		}
	}
	if !sockets {
		return
	}
	for _, h := range e.streams {
		if !h.out && h.want == netx.In && e.poller.Del(h.fd) == nil {
			h.out = true
			if d, ok := h.src.(Director); ok {
				d.Direct(true)
			}
		}
	}
}

// leaveDirect puts back, or tells, those of a list. Locked.
func (e *Engine) leaveDirect(list []*Handle) {
	e.direct = 0
	for i := len(list) - 1; i >= 0; i-- { // downwards: one that is lost leaves the list
		h := list[i]
		if h.out {
			h.back()
		}
		if h.told {
			h.told = false
			if err := h.src.(Director).Direct(false); err != nil {
				h.src.Lost(err)
			}
		}
	}
}

// back puts the socket into the poller again.
func (h *Handle) back() {
	h.out = false
	var err error
	if d, ok := h.src.(Director); ok {
		err = d.Direct(false)
	}
	if err == nil {
		err = h.e.poller.Add(h.fd, h.want, h.token())
	}
	if err != nil {
		h.out = true // not there to be removed
		h.src.Lost(err)
	}
}

// nextGen gives h a generation of its own, so that an event of a socket that had the slot before is recognised as stale.
func (e *Engine) nextGen(h *Handle) {
	e.gens++
	h.gen = e.gens
}

func (h *Handle) token() uint64 { return uint64(h.gen)<<32 | uint64(uint32(h.slot)) }

// Remove ends the registration; the socket itself is the owner's to close afterwards.
func (h *Handle) Remove() {
	e := h.e
	h.SetDeadline(0)
	if h.slot < 0 || e.slots[h.slot] != h {
		return
	}
	if !h.out && h.fd != netx.NoFD {
		e.poller.Del(h.fd)
	}
	e.slots[h.slot] = nil
	e.free = append(e.free, h.slot)
	h.stepIn()
	h.leave()
}

// Want says which readiness to be told of.
func (h *Handle) Want(ev netx.Events) error {
	if ev == h.want {
		return nil
	}
	if h.out {
		h.want = ev
		if ev&netx.In == 0 {
			h.back() // passes do not read it any more
		}
		return nil
	}
	if err := h.e.poller.Mod(h.fd, ev, h.token()); err != nil {
		return err
	}
	h.want = ev
	return nil
}

// SetDeadline asks for Expired at the given time; 0 cancels. It replaces the deadline set before.
func (h *Handle) SetDeadline(at mono.Time) {
	e := h.e
	if at == 0 {
		e.timers.Remove(h.timer)
		return
	}
	e.timers.Set(at, h, &h.timer)
	if (e.armed || !e.auto) && e.timers.Min() == h { // else the ticks look after it
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

// Timer returns a Handle without a socket: f is called, with the lock held, when the time of SetDeadline has come. Locked.
func (e *Engine) Timer(f func(now mono.Time)) *Handle {
	return &Handle{e: e, fd: netx.NoFD, src: timerFunc{f}, slot: -1}
}

// After calls f, with the lock held, when the time has come. Locked. The Handle's Remove cancels it.
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
