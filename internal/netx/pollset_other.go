//go:build !linux || fabricbasic

// One call of poll(2) on behalf of a Poller.

package netx

import (
	"syscall"
	"time"
)

// pollSet is the list for one call of poll(2), and the means to interrupt it. It is reused, so that waiting does
// not allocate.
type pollSet struct {
	fds  []pollFD // fds[0] is wake
	wake *Notifier
}

func (s *pollSet) close() { s.wake.Close() }

// take returns an unused set, or a new one.
func (p *Poller) take() (*pollSet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, syscall.EBADF
	}
	if n := len(p.sets); n > 0 {
		s := p.sets[n-1]
		p.sets = p.sets[:n-1]
		return s, nil
	}
	wake, err := NewNotifier()
	if err != nil {
		return nil, err
	}
	return &pollSet{wake: wake}, nil
}

func (p *Poller) put(s *pollSet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asleep, s)
	if p.closed {
		s.close()
		return
	}
	p.sets = append(p.sets, s)
}

// list writes the registrations into s. With sleep, changes from here on interrupt s. The caller has called Reset
// on its wake before.
func (p *Poller) list(s *pollSet, sleep bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return syscall.EBADF
	}
	if sleep {
		p.asleep[s] = struct{}{}
	}
	s.fds = append(s.fds[:0], watch(FD(s.wake.FD()), pollIn))
	for i := range p.regs {
		r := &p.regs[(i+p.turn)%len(p.regs)]
		if !r.fired {
			s.fds = append(s.fds, watch(r.fd, toPoll(r.ev)))
		}
	}
	return nil
}

// poll waits for any event in the set. An interrupted wait counts as one without events.
func (s *pollSet) poll(timeout time.Duration) error {
	_, err := sysPoll(s.fds, waitMillis(timeout))
	if err == syscall.EINTR {
		for i := range s.fds {
			s.fds[i].Revents = 0
		}
		return nil
	}
	return err
}

// ready reports whether poll found an event of a watched descriptor.
func (s *pollSet) ready() bool {
	for _, f := range s.fds[1:] {
		if f.Revents&^pollInvalid != 0 {
			return true
		}
	}
	return false
}

func toPoll(ev Events) int16 {
	var e int16
	if ev&In != 0 {
		e |= pollIn
	}
	if ev&Out != 0 {
		e |= pollOut
	}
	return e
}

func fromPoll(e int16) Events {
	var ev Events
	if e&pollIn != 0 {
		ev |= In
	}
	if e&pollOut != 0 {
		ev |= Out
	}
	if e&pollErr != 0 {
		ev |= Err | In | Out // not every system sets In and Out, but calls would not fail with EAGAIN
	}
	if e&pollHup != 0 {
		ev |= Hup | In | Out
	}
	return ev
}

func (p *Poller) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
