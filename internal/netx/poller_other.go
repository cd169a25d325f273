//go:build !linux || fabricbasic

// Readiness of many descriptors: poll(2).

package netx

import (
	"sync"
	"syscall"
	"time"
)

// EdgeTriggered reports whether the Edge flag has an effect on this system.
const EdgeTriggered = false

// Poller watches descriptors. Its methods may be called from several goroutines. Close must only be called when no
// other call is in progress.
type Poller struct {
	mu     sync.Mutex
	regs   []registration
	index  map[FD]int // index in regs
	turn   int        // index at which the next wait begins, so that all are served when evs is short
	sets   []*pollSet // sets that no call uses
	asleep map[*pollSet]struct{}
	closed bool
}

type registration struct {
	fd    FD
	ev    Events
	token uint64
	fired bool // a OneShot registration that was reported
}

// NewPoller opens a Poller that watches nothing.
func NewPoller() (*Poller, error) {
	return &Poller{index: map[FD]int{}, asleep: map[*pollSet]struct{}{}}, nil
}

// Close stops watching. It does not close the watched descriptors, and does not wake a Wait.
func (p *Poller) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.sets {
		s.close()
	}
	p.sets, p.regs, p.index = nil, nil, nil
	p.changed()
	return nil
}

// Add starts to watch fd for ev, and reports it as token. It returns syscall.EEXIST when fd is watched already.
// Callers Del a descriptor before they close it.
func (p *Poller) Add(fd FD, ev Events, token uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || fd < 0 {
		return syscall.EBADF
	}
	if _, ok := p.index[fd]; ok {
		return syscall.EEXIST
	}
	p.index[fd] = len(p.regs)
	p.regs = append(p.regs, registration{fd: fd, ev: ev, token: token})
	p.changed()
	return nil
}

// Mod replaces conditions and token of a watched descriptor, and watches it again after a OneShot report. It
// returns syscall.ENOENT when fd is not watched.
func (p *Poller) Mod(fd FD, ev Events, token uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.index[fd]
	if !ok {
		return syscall.ENOENT
	}
	p.regs[i] = registration{fd: fd, ev: ev, token: token}
	p.changed()
	return nil
}

// Del stops watching fd. It returns syscall.ENOENT when fd is not watched. A Wait in progress on another thread may
// still report it.
func (p *Poller) Del(fd FD) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.index[fd]
	if !ok {
		return syscall.ENOENT
	}
	p.remove(i)
	return nil
}

func (p *Poller) remove(i int) {
	delete(p.index, p.regs[i].fd)
	last := len(p.regs) - 1
	if i != last {
		p.regs[i] = p.regs[last]
		p.index[p.regs[i].fd] = i
	}
	p.regs = p.regs[:last]
	p.changed()
}

// changed wakes the calls that wait on an older list, so that they read the new one.
func (p *Poller) changed() {
	for s := range p.asleep {
		s.wake.Signal()
	}
}

// Wait fills evs, which the caller owns, with events, and returns how many. A timeout of 0 never waits, a negative
// one waits without limit. Otherwise Wait returns 0 after timeout, rounded up to milliseconds. A Wait that waits
// holds a thread: goroutines wait with a Parker. It reports at most 64 events at a time and does not allocate.
func (p *Poller) Wait(evs []Event, timeout time.Duration) (int, error) {
	if len(evs) == 0 {
		return 0, syscall.EINVAL
	}
	s, err := p.take()
	if err != nil {
		return 0, err
	}
	defer p.put(s)
	deadline := time.Now().Add(timeout)
	for {
		s.wake.Reset()
		if err := p.list(s, timeout != 0); err != nil {
			return 0, err
		}
		if err := s.poll(timeout); err != nil {
			return 0, err
		}
		if n := p.collect(s, evs); n > 0 || timeout == 0 {
			return n, nil
		}
		if timeout > 0 {
			timeout = max(time.Until(deadline), 0)
		}
	}
}

// collect fills evs with the events that s found, as far as they are still registered.
func (p *Poller) collect(s *pollSet, evs []Event) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, f := range s.fds[1:] {
		i, ok := p.index[FD(f.Fd)]
		if f.Revents == 0 || !ok {
			continue
		}
		r := &p.regs[i]
		if f.Revents&pollInvalid != 0 {
			// The descriptor was closed without Del. An epoll forgets such a descriptor, so this Poller does, too.
			p.remove(i)
			continue
		}
		ready := fromPoll(f.Revents) & (r.ev | Err | Hup)
		if ready == 0 || r.fired {
			continue
		}
		r.fired = r.ev&OneShot != 0
		evs[n] = Event{r.token, ready}
		p.turn = i + 1
		if n++; n == len(evs) {
			break
		}
	}
	return n
}
