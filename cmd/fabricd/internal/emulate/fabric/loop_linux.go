package fabric

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
)

const (
	// burst is how many frames are read from an interface before others have their turn.
	burst = 64
	// spin is how long the loop looks again and again rather than sleep: a thread wakes up some ten microseconds late, and delays are to be right.
	spin = 60 * time.Microsecond
	// events is how many ready descriptors one call tells of.
	events = 64
)

// loop moves frames until the fabric is closed.
func (f *Fabric) loop() {
	defer close(f.done)
	_ = onThread(func() error { // nothing else is to run on a thread that goes first
		_ = becomeFirst() // a favour
		f.move()
		return nil
	})
}

// move is the loop itself.
func (f *Fabric) move() {
	w, err := newWatch(f.nodes, f.unplugged)
	if err != nil {
		f.log.Error("the emulated fabric stands still", "error", err)
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

// unplugged says that a node has lost an interface for good.
func (f *Fabric) unplugged(face int) {
	me := &f.net.faces[face]
	node := &f.top.Nodes[me.node]
	f.log.Warn("a program in a node has removed an interface; it stays away until the fabric is started again", "node", node.Name,
		"interface", node.Interfaces[me.index].Name)
}

// read takes frames from an interface and sends them on their way. It reports whether there may be more.
func (f *Fabric) read(face int) bool {
	fd := f.nodes.taps[face]
	timed := f.net.faces[face].out.link.Timed()
	f.net.now = mono.Now()
	for range burst {
		frame := f.net.room(face)
		if frame == nil {
			var waste [1]byte // what does not fit is gone
			if _, err := unix.Read(fd, waste[:]); err != nil {
				return false
			}
			f.net.refuse(face)
			continue
		}
		n, err := unix.Read(fd, frame.B)
		if err != nil {
			f.net.pool.put(frame)
			return false // EAGAIN, or the program in the node took the interface down
		}
		if timed {
			f.net.now = mono.Now()
		}
		frame.B = frame.B[:n]
		f.net.send(face, frame)
	}
	return true
}

// watch waits for frames, times and the end.
type watch struct {
	epoll, timer int
	wake         int
	ending       *atomic.Bool
	armed        bool
	taps         []int
	unplugged    func(face int)
	events       [events]unix.EpollEvent
	ready        []int // faces with frames
}

// newWatch watches the interfaces; unplugged is called once for each that is no more.
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

// What is ready when it is no interface.
const (
	isTimer = -1
	isWake  = -2
)

// wait returns at the time at, or when frames are there. It reports false at the end.
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
			_, _ = unix.Read(w.wake, count[:]) // it is ready no more
			if w.ending.Load() {
				return false
			}
		case e.Fd == isTimer:
			w.arm(0)
		case e.Events&unix.EPOLLERR != 0:
			// Only an interface that was removed is so (drivers/net/tun.c, tun_chr_poll), and stays so: it would be ready at each call.
			_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, w.taps[e.Fd], nil)
			w.unplugged(int(e.Fd))
		default:
			w.ready = append(w.ready, int(e.Fd))
		}
	}
	return true
}

// arm sets the timer, 0 for never; reading it is not needed, as setting it makes it not ready.
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
