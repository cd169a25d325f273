//go:build linux

package xdp

import (
	"sync"
	"sync/atomic"
	"time"

	"gofabric/internal/mono"
)

// mover takes the program off the interface and puts it back, as its aside says. A change waits in the kernel, and so has a goroutine of its own.
type mover struct {
	off   atomic.Bool // the program is off, or about to be: what comes, comes to sockets
	mu    sync.Mutex
	a     aside
	stays int         // ports that want it on
	timer *time.Timer // for the end of large messages
	ended bool
	asked bool   // PrepareSteps was called
	steps uint64 // times it went off
}

// MayStep reports whether the program may step aside: it is this process's, and in generic mode, where it costs the large messages something that come for sockets.
func (i *Interface) MayStep() bool { return i.prog != nil && i.mode == Generic }

// PrepareSteps has a goroutine make ready what makes stepping aside quick. Without it, or the privilege that it takes (CAP_SYS_ADMIN), the program steps seldom.
func (i *Interface) PrepareSteps() {
	m := &i.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked || m.ended || !i.MayStep() {
		return
	}
	m.asked = true
	go func() {
		if i.prog.hold() == nil {
			m.mu.Lock()
			m.a.quick = true
			m.mu.Unlock()
		}
	}()
}

// Came tells of runs of datagrams, bytes of them, that came for a port's socket, and of datagrams that came one by one, by any way, since it was last told: so that
// the program steps aside while large messages come, where that makes them faster (see aside). It reports whether it does so now. What comes meanwhile comes
// to the socket alone. Whoever does not tell, and says so with Stay, has the program on.
func (i *Interface) Came(now mono.Time, bytes, runs, singles int) (steps bool) {
	m := &i.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || m.stays > 0 || !m.a.came(now, bytes, runs, singles) {
		return false
	}
	go i.move()
	return m.a.off
}

// Aside reports whether the program is off the interface: what comes, comes to sockets.
func (i *Interface) Aside() bool { return i.mover.off.Load() }

// Steps is how often the program has stepped aside.
func (i *Interface) Steps() uint64 {
	i.mover.mu.Lock()
	defer i.mover.mu.Unlock()
	return i.mover.steps
}

// stay counts ports that want the program on.
func (i *Interface) stay(ports int) {
	m := &i.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stays += ports; m.stays > 0 && !m.ended && m.a.leave(mono.Now()) {
		go i.move()
	}
}

// move carries out what was ordered.
func (i *Interface) move() {
	m := &i.mover
	m.mu.Lock()
	for again := true; again && !m.ended; {
		off := m.a.off
		m.a.began(mono.Now())
		if off {
			m.steps++
			m.off.Store(true)
		}
		m.mu.Unlock()
		err := i.change(off)
		m.mu.Lock()
		now := mono.Now()
		m.a.done(now, err)
		m.off.Store(m.a.off)
		again = m.stays > 0 && m.a.leave(now)
	}
	if m.a.off && m.a.err == nil && !m.ended {
		m.await(m.a.every)
	}
	var lost error
	if m.a.off && !m.ended {
		lost = m.a.err
	}
	m.mu.Unlock()
	if lost != nil {
		i.lose(named(i.name, lost))
	}
}

// change attaches the program, or detaches it. To attach takes a thread that is in the interface's namespace, so that only such a one detaches.
func (i *Interface) change(off bool) error {
	return i.space.within(func() error {
		if off {
			i.prog.detach()
			return nil
		}
		return i.prog.attach(i.index, i.mode)
	})
}

// await has the end of large messages looked for after a time. Locked.
func (m *mover) await(d time.Duration) { m.timer.Reset(d) }

// Rested tells, while the program is aside, that a port's owner has looked for some time and found nothing: the program comes back if large messages have ended.
func (i *Interface) Rested(now mono.Time) {
	m := &i.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended && !m.a.moving && m.a.off && m.a.ended(now) {
		go i.move()
	}
}

// watch looks whether large messages have ended: their receiver may not look at all.
func (i *Interface) watch() {
	m := &i.mover
	m.mu.Lock()
	if m.ended || m.a.moving || !m.a.off {
		m.mu.Unlock()
		return
	}
	order, again := m.a.watch(mono.Now())
	if !order {
		m.await(again)
	}
	m.mu.Unlock()
	if order {
		i.move()
	}
}

// end has nothing moved any more.
func (m *mover) end() {
	m.mu.Lock()
	m.ended = true
	m.timer.Stop()
	m.mu.Unlock()
}

// OnLoss sets what is called, by a goroutine, when the program has stepped aside and cannot come back: another one has taken its place. nil: nothing.
func (p *Port) OnLoss(f func(error)) {
	p.i.mu.Lock()
	p.onLoss = f
	p.i.mu.Unlock()
}

// Stay begins or ends keeping the program on the interface, whatever others tell with Came.
func (p *Port) Stay(on bool) {
	if on == p.stays {
		return
	}
	p.stays = on
	if on {
		p.i.stay(1)
	} else {
		p.i.stay(-1)
	}
}

// lose tells all ports that nothing comes for them any more.
func (i *Interface) lose(err error) {
	i.mu.Lock()
	var tell []func(error)
	for p := range i.ports {
		if p.onLoss != nil {
			tell = append(tell, p.onLoss)
		}
	}
	i.mu.Unlock()
	for _, f := range tell {
		f(err)
	}
}
