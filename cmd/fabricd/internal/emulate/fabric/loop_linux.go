package fabric

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
)

const (
	// burst is the number of frames that are read from an interface before the next interface is served.
	burst = 64
	// spin is the time for which the loop polls instead of sleeping: a thread wakes up about ten microseconds late,
	// which would distort delays.
	spin = 60 * time.Microsecond
	// events is the number of ready descriptors in one call.
	events = 64
)

// loop moves frames until the fabric is closed.
func (f *Fabric) loop() {
	defer close(f.done)
	_ = onThread(func() error { // no other goroutine may run on a thread with real-time priority
		_ = becomeFirst() // optional
		f.move()
		return nil
	})
}

// move is the loop.
func (f *Fabric) move() {
	w, err := newWatch(f.nodes, f.unplugged)
	if err != nil {
		f.log.Error("the emulated fabric moves no frames", "error", err)
		return
	}
	defer w.close()
	for {
		f.mu.Lock()
		more := false
		for _, face := range w.ready {
			more = f.read(face) || more
		}
		next := f.advance(mono.Now())
		f.mu.Unlock()
		if more {
			next = 0
		}
		if !w.wait(next) {
			return
		}
	}
}

// unplugged logs that a node has lost an interface for good.
func (f *Fabric) unplugged(face int) {
	me := &f.net.faces[face]
	node := &f.top.Nodes[me.node]
	f.log.Warn("a program in a node removed an interface; it is missing until the fabric is started again", "node", node.Name,
		"interface", node.Interfaces[me.index].Name)
}

// read reads frames from an interface and sends them. It reports whether there may be more.
func (f *Fabric) read(face int) bool {
	fd := f.nodes.taps[face]
	timed := f.net.faces[face].out.link.Timed()
	f.net.now = mono.Now()
	for range burst {
		frame := f.net.room(face)
		if frame == nil {
			var waste [1]byte // receives frames without room, which are dropped
			if _, err := unix.Read(fd, waste[:]); err != nil {
				return false
			}
			f.net.refuse(face)
			continue
		}
		n, err := unix.Read(fd, frame.B)
		if err != nil {
			f.net.pool.put(frame)
			return false // EAGAIN, or a program in the node took the interface down
		}
		if timed {
			f.net.now = mono.Now()
		}
		frame.B = frame.B[:n]
		f.net.send(face, frame)
	}
	return true
}

// watch waits for frames, times and the end of the loop.
type watch struct {
	epoll, timer int
	wake         int
	ending       *atomic.Bool
	armed        bool
	taps         []int
	unplugged    func(face int)
	events       [events]unix.EpollEvent
	ready        []int // interfaces with frames
}

// newWatch watches the interfaces. It calls unplugged once for each interface that was removed.
func newWatch(ns *nodes, unplugged func(face int)) (w *watch, err error) {
	w = &watch{epoll: -1, timer: -1, wake: ns.wake, ending: &ns.ending, taps: ns.taps, unplugged: unplugged}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if w.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return nil, err
	}
	add := func(fd, what int) error {
		return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(what)})
	}
	for face, fd := range ns.taps {
		if err := add(fd, face); err != nil {
			return nil, err
		}
	}
	if err := add(w.timer, isTimer); err != nil {
		return nil, err
	}
	return w, add(w.wake, isWake)
}

// The descriptors that are not interfaces.
const (
	isTimer = -1
	isWake  = -2
)

// wait returns at the time at, or when there are frames. It returns false at the end of the loop.
func (w *watch) wait(at mono.Time) bool {
	timeout := 0
	if left := at.Sub(mono.Now()); left > spin {
		timeout = -1
		if at == mono.Never {
			w.arm(0)
		} else {
			w.arm(left - spin)
		}
	}
	n, err := unix.EpollWait(w.epoll, w.events[:], timeout)
	if err != nil && err != unix.EINTR {
		return false
	}
	w.ready = w.ready[:0]
	for _, e := range w.events[:max(n, 0)] {
		switch {
		case e.Fd == isWake:
			var count [8]byte
			_, _ = unix.Read(w.wake, count[:]) // resets the eventfd
			if w.ending.Load() {
				return false
			}
		case e.Fd == isTimer:
			w.arm(0)
		case e.Events&unix.EPOLLERR != 0:
			// Only a removed interface reports this (tun_chr_poll in the kernel's drivers/net/tun.c). It does so
			// for ever, and each call would return it.
			_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, w.taps[e.Fd], nil)
			w.unplugged(int(e.Fd))
		default:
			w.ready = append(w.ready, int(e.Fd))
		}
	}
	return true
}

// arm sets the timer, 0 for never. It need not be read: setting it makes it unready (timerfd_create(2)).
func (w *watch) arm(d time.Duration) {
	if d == 0 && !w.armed {
		return
	}
	w.armed = d > 0
	_ = unix.TimerfdSettime(w.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
}

func (w *watch) close() {
	for _, fd := range []int{w.epoll, w.timer} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
