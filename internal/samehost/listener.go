// The Listener: accepts connections of processes of this host, and passes those with a valid hello to its owner. It
// bounds the number and the time of pending connections, because any process of the host can connect.

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
	acceptMost = 2 * backlog // connections per Accept: expected ones wait already
	// helloTime is the time-out for a connection's hello.
	helloTime = time.Second
)

// Config configures a Listener.
type Config struct {
	Use        trust.Use // use that refusals are logged for
	Name       string    // result of Name
	BodyLen    int       // length of the service's part in bytes, at most BodyMax
	Memory     bool      // memory may come with hellos
	MaxPending int       // most connections without a hello; the oldest is closed when one more comes

	// Progress makes the engine call the Listener for connections and hellos. If it is nil, connections are only
	// accepted by Accept.
	Progress *progress.Engine
	// Room reports whether one more connection may be accepted. Nil means always.
	Room func() bool
	// Greeted takes over a connection with a valid hello, or closes it. body is valid during the call. Memory that
	// is not mapped (Map) when Greeted returns is closed.
	Greeted func(c *Conn, body []byte)
}

// Listener accepts connections of processes of this host and user. Its methods are called with its owner's lock
// held, which is that of Config.Progress if there is one.
type Listener struct {
	Config
	fd       netx.FD // netx.NoFD if closed
	h        *progress.Handle
	pending  []*pending
	expected int
	reserve  []netx.FD // descriptors reserved for expected connections
}

// pending is a connection without a hello.
type pending struct {
	l     *Listener
	c     *Conn
	h     *progress.Handle // only with Config.Progress
	until mono.Time
}

// Listen opens the local socket. Errors are those of bind(2), such as syscall.EADDRINUSE if the name is taken, and
// those of registering with the engine.
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

// FD returns the socket. It is netx.NoFD after Close, and after the Listener has run out of descriptors.
func (l *Listener) FD() netx.FD { return l.fd }

// Pending returns the number of connections that have sent no hello yet.
func (l *Listener) Pending() int { return len(l.pending) }

// Close closes the socket, and connections without a hello. Connections that Greeted took stay open.
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

// Expect reserves descriptors for n connections that peers were asked to make, and for their memory, since the
// process may run out of descriptors later. It reports whether it could. A connection that has come counts as
// expected until the next call.
func (l *Listener) Expect(n int) bool {
	if l.Memory {
		n *= 2
	}
	l.expected = n
	return l.refill()
}

// refill reserves the descriptors that are missing, and reports whether it could.
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

// Reserved returns the number of reserved descriptors.
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

// Accept accepts the connections that wait, and reads the hellos that have come. starved reports that a connection
// still waits because there are no descriptors.
func (l *Listener) Accept() (starved bool) {
	defer l.refill()
	if l.Progress == nil { // otherwise the engine reports hellos
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
		l.refill() // for the next connection, if this one was not expected
	}
	return starved
}

// takeHellos reads the hellos of pending connections.
func (l *Listener) takeHellos() (starved bool) {
	now := mono.Now()
	for _, p := range slices.Clone(l.pending) {
		if starved = p.takeHello() || starved; !starved && p.until.Due(now) {
			p.close() // a retry would not help
		}
	}
	return starved
}

// await waits for the hello of a new connection. As a rule it has come already.
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

// takeHello reads the hello if it has come. starved reports that it may have come with memory, for which there is
// no descriptor.
func (p *pending) takeHello() (starved bool) {
	l := p.l
	if p.c.fd == netx.NoFD {
		return false
	}
	if l.Memory && !l.canReceive() {
		return true // the kernel drops a passed descriptor if the process cannot have it
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

// canReceive makes sure that the process can receive one descriptor.
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

// forget removes p from the pending connections.
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

// Ready implements progress.Source: a process has connected. Without free descriptors the socket would stay
// readable and keep the poller busy, so it is closed.
func (l *Listener) Ready(bool, bool) {
	if l.Accept() {
		l.Close()
	}
}

// Poll implements progress.Source. It is never called for a Listener.
func (l *Listener) Poll() {}

// Expired implements progress.Source. A Listener has no deadline.
func (l *Listener) Expired(mono.Time) {}

// Lost implements progress.Source.
func (l *Listener) Lost(error) { l.Close() }

// Ready implements progress.Source: a hello has come, or the connection has ended.
func (p *pending) Ready(bool, bool) {
	if p.takeHello() {
		p.close() // without descriptors, as a Listener
	}
}

// Poll implements progress.Source. It is never called.
func (p *pending) Poll() {}

// Expired implements progress.Source: no hello has come in time.
func (p *pending) Expired(mono.Time) { p.close() }

// Lost implements progress.Source.
func (p *pending) Lost(error) { p.close() }
