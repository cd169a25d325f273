package samehost

import (
	"slices"
	"syscall"
	"time"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/trust"
)

const (
	backlog    = 64
	acceptMost = 2 * backlog // connections per Accept: those that are expected wait already
	// helloTime is how long a connection may take for its hello.
	helloTime = time.Second
)

// Config is what a Listener needs.
type Config struct {
	Use        trust.Use // of refusals
	Name       string    // of Name
	BodyLen    int       // of hellos, bytes, BodyMax at most
	Memory     bool      // memory may come with hellos
	MaxPending int       // connections without a hello; beyond that the oldest is closed

	// Progress has the engine tell the Listener of connections and hellos. Nil: nothing is accepted but by Accept.
	Progress *progress.Engine
	// Room reports whether there may be another connection; nil: always.
	Room func() bool
	// Greeted takes a connection whose hello has come, or closes it. body is borrowed. Memory that Map does not begin to share before Greeted returns is
	// dropped.
	Greeted func(c *Conn, body []byte)
}

// Listener accepts connections of processes of this host and user. Its methods are called with the lock that guards its owner held: that of Config.Progress, if
// there is one.
type Listener struct {
	Config
	fd       netx.FD // netx.NoFD: closed
	h        *progress.Handle
	pending  []*pending
	expected int
	reserve  []netx.FD // descriptors for those
}

// pending is a connection whose hello has not come.
type pending struct {
	l     *Listener
	c     *Conn
	h     *progress.Handle // with Config.Progress
	until mono.Time
}

// Listen opens the local socket. Errors are those of bind(2), syscall.EADDRINUSE if the name is taken, and of registering with the engine.
func Listen(cfg Config) (*Listener, error) {
	fd, err := netx.LocalListen(cfg.Name, backlog)
	if err != nil {
		return nil, err
	}
	l := &Listener{Config: cfg, fd: fd}
	if l.Progress != nil {
		if l.h, err = l.Progress.Register(fd, l, false, netx.In); err != nil {
			netx.Close(fd)
			return nil, err
		}
	}
	return l, nil
}

// FD is the socket; netx.NoFD once the Listener was closed, by its owner or for want of descriptors.
func (l *Listener) FD() netx.FD { return l.fd }

// Pending is how many connections have sent no hello yet.
func (l *Listener) Pending() int { return len(l.pending) }

// Close closes the socket, and connections without a hello. The others stay.
func (l *Listener) Close() {
	if l.fd == netx.NoFD {
		return
	}
	if l.h != nil {
		l.h.Remove()
	}
	netx.Close(l.fd)
	l.fd = netx.NoFD
	for len(l.pending) > 0 {
		l.pending[0].close()
	}
	l.Expect(0)
}

// Expect reserves descriptors for n connections that peers were asked to make, and for their memory: later there may be none to accept them with. It reports
// whether it could. A connection that has come is expected until the next call.
func (l *Listener) Expect(n int) bool {
	if l.Memory {
		n *= 2
	}
	l.expected = n
	return l.refill()
}

// refill has as many descriptors in reserve as are needed, and reports whether it could.
func (l *Listener) refill() bool {
	if l.fd == netx.NoFD {
		l.expected = 0
	}
	n := l.expected
	for len(l.reserve) > n {
		l.Release()
	}
	for len(l.reserve) < n {
		fd, err := netx.Duplicate(l.fd)
		if err != nil {
			return false
		}
		l.reserve = append(l.reserve, fd)
	}
	return true
}

// Reserved is how many descriptors are reserved.
func (l *Listener) Reserved() int { return len(l.reserve) }

// Release closes a reserved descriptor, and reports whether there was one.
func (l *Listener) Release() bool {
	last := len(l.reserve) - 1
	if last < 0 {
		return false
	}
	netx.Close(l.reserve[last])
	l.reserve = l.reserve[:last]
	return true
}

// Accept accepts the connections that wait, and takes the hellos that have come. starved: descriptors have run out, and a connection waits still.
func (l *Listener) Accept() (starved bool) {
	defer l.refill()
	if l.Progress == nil { // else they are told when their hello comes
		starved = l.takeHellos()
	}
	for range acceptMost {
		if l.fd == netx.NoFD {
			return starved
		}
		fd, _, err := Accept(l.fd, l.Use, l.Name)
		for netx.OutOfResources(err) && l.Release() {
			fd, _, err = Accept(l.fd, l.Use, l.Name)
		}
		switch {
		case err == syscall.EPERM:
			continue
		case err != nil:
			return netx.OutOfResources(err) || starved
		case l.Room != nil && !l.Room():
			netx.Close(fd)
			continue
		}
		starved = l.await(fd) || starved
		l.refill() // for the next one, if this one was not expected
	}
	return starved
}

// takeHellos looks at the connections whose hello had not come.
func (l *Listener) takeHellos() (starved bool) {
	now := mono.Now()
	for _, p := range slices.Clone(l.pending) {
		if starved = p.takeHello() || starved; !starved && p.until.Due(now) {
			p.close() // after that it is of no use
		}
	}
	return starved
}

// await waits for the hello of a new connection, which has come as a rule.
func (l *Listener) await(fd netx.FD) (starved bool) {
	p := &pending{l: l, c: newConn(fd), until: mono.Now().Add(helloTime)}
	if l.Progress != nil {
		var err error
		if p.h, err = l.Progress.Register(fd, p, false, netx.In); err != nil {
			p.c.Close()
			return false
		}
		p.h.SetDeadline(p.until)
	}
	if l.pending = append(l.pending, p); len(l.pending) > l.MaxPending {
		l.pending[0].close()
	}
	return p.takeHello()
}

// takeHello takes the hello if it has come. starved: memory may have come with it, for which there is no descriptor.
func (p *pending) takeHello() (starved bool) {
	l := p.l
	if p.c.fd == netx.NoFD {
		return false
	}
	if l.Memory && !l.canReceive() {
		return true // the system drops a descriptor that finds no room
	}
	var b [helloHead + BodyMax + 1]byte
	n, memory, err := netx.RecvWith(p.c.fd, b[:helloHead+l.BodyLen+1])
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return false
	}
	p.c.memory = memory
	body, announced, ok := parseHello(b[:n], l.BodyLen)
	if err != nil || !ok || announced != (memory != netx.NoFD) || announced && !l.Memory {
		p.close()
		return false
	}
	p.forget()
	l.Greeted(p.c, body)
	p.c.dropMemory()
	return false
}

// canReceive makes sure that a descriptor can be received.
func (l *Listener) canReceive() bool {
	if l.Release() {
		return true
	}
	fd, err := netx.Duplicate(l.fd)
	if err != nil {
		return false
	}
	netx.Close(fd)
	return true
}

// forget takes p out of the pending connections.
func (p *pending) forget() {
	if i := slices.Index(p.l.pending, p); i >= 0 {
		p.l.pending = slices.Delete(p.l.pending, i, i+1)
	}
	if p.h != nil {
		p.h.Remove()
		p.h = nil
	}
}

func (p *pending) close() {
	p.forget()
	p.c.Close()
}

// Ready implements progress.Source: a process has connected. Without descriptors the socket would stay readable, and keep the poller busy: it is closed.
func (l *Listener) Ready(bool, bool) {
	if l.Accept() {
		l.Close()
	}
}

// Poll implements progress.Source; it is never called for a Listener.
func (l *Listener) Poll() {}

// Expired implements progress.Source; a Listener has no deadline.
func (l *Listener) Expired(mono.Time) {}

// Lost implements progress.Source.
func (l *Listener) Lost(error) { l.Close() }

// Ready implements progress.Source: a hello, or the end.
func (p *pending) Ready(bool, bool) {
	if p.takeHello() {
		p.close() // as a listener without descriptors
	}
}

// Poll implements progress.Source; it is never called.
func (p *pending) Poll() {}

// Expired implements progress.Source: no hello has come.
func (p *pending) Expired(mono.Time) { p.close() }

// Lost implements progress.Source.
func (p *pending) Lost(error) { p.close() }
