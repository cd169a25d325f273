// A connection between two processes of one host, and the memory that they share.

package samehost

import (
	"fmt"
	"syscall"

	"gofabric/internal/netx"
	"gofabric/internal/shm"
	"gofabric/internal/trust"
)

// Name returns the name of a service's local socket. id distinguishes the service's sockets.
func Name(service, id string) string {
	return fmt.Sprintf("gofabric-%d-%s-%s", helloVersion, service, id)
}

// Conn is a connection to a process of this host and this user, with the memory shared with it. It is not safe for
// concurrent use.
type Conn struct {
	*shm.Rings // nil: no memory is shared
	fd         netx.FD
	memory     netx.FD // came with the hello, and is not mapped; netx.NoFD if none came
	ended      bool
}

// Dial connects to the local socket of a name. Errors are those of connect(2), such as syscall.ECONNREFUSED if no
// process has that name. syscall.EPERM means that another user has the name; this has been counted and logged as a
// refusal of use.
func Dial(use trust.Use, name string) (*Conn, error) {
	fd, err := netx.LocalConnect(name)
	if err != nil {
		return nil, err
	}
	if _, ok := trust.Same(fd, use, name); !ok {
		netx.Close(fd)
		return nil, syscall.EPERM
	}
	return newConn(fd), nil
}

func newConn(fd netx.FD) *Conn { return &Conn{fd: fd, memory: netx.NoFD} }

// Accept accepts one connection on a local socket that listens under a name, from a process that Dial would trust.
// Errors are those of accept(2). syscall.EPERM means that it has refused and closed a connection.
func Accept(fd netx.FD, use trust.Use, name string) (netx.FD, netx.Peer, error) {
	c, err := netx.LocalAccept(fd)
	if err != nil {
		return netx.NoFD, netx.Peer{}, err
	}
	p, ok := trust.Same(c, use, name)
	if !ok {
		netx.Close(c)
		return netx.NoFD, p, syscall.EPERM
	}
	return c, p, nil
}

// Greet sends the hello, with new memory if share is set. If memory cannot be made, none is shared. After an error
// the connection is unusable.
func (c *Conn) Greet(body []byte, share bool) error {
	memory := netx.NoFD
	if share {
		if rings, fd, err := shm.Create(); err == nil {
			c.Rings, memory = rings, netx.FD(fd)
			defer netx.Close(memory)
		}
	}
	b := appendHello(make([]byte, 0, helloHead+BodyMax), body, memory != netx.NoFD)
	n, err := netx.SendWith(c.fd, b, memory)
	if err == nil && n < len(b) {
		err = syscall.EMSGSIZE // the socket's buffer was empty, so this does not happen
	}
	return err
}

// Map maps the memory that came with the hello. It fails if none came, or if it is not as Greet makes it.
func (c *Conn) Map() error {
	if c.memory == netx.NoFD {
		return syscall.ENOENT
	}
	rings, err := shm.Open(int(c.memory))
	c.dropMemory()
	if err != nil {
		return err
	}
	c.Rings = rings
	return nil
}

func (c *Conn) dropMemory() {
	if c.memory != netx.NoFD {
		netx.Close(c.memory)
		c.memory = netx.NoFD
	}
}

// FD returns the socket.
func (c *Conn) FD() netx.FD { return c.fd }

var doorbell [1]byte

// Ring sends the doorbell. Errors are ignored: if there is no room, other doorbells are on the way; if the peer has
// ended, the socket shows it.
func (c *Conn) Ring() { netx.Send(c.fd, doorbell[:], false) }

// TakeDoorbells receives the doorbells that were sent. It reports whether the peer has closed its end.
func (c *Conn) TakeDoorbells() (ended bool) {
	var b [64]byte
	switch n, errno := netx.Recv(c.fd, b[:]); {
	case errno == syscall.EAGAIN, errno == syscall.EINTR:
	case n == 0: // closed; with ECONNRESET, before it had received all doorbells
		c.ended = true
	}
	return c.ended
}

// Ended reports whether TakeDoorbells has found that the peer has closed its end.
func (c *Conn) Ended() bool { return c.ended }

// Dead checks whether the peer has closed its end.
func (c *Conn) Dead() bool {
	if !c.ended {
		n, err := netx.Peek(c.fd)
		c.ended = n <= 0 && err != syscall.EAGAIN && err != syscall.EINTR
	}
	return c.ended
}

// Unshare ends the use of the memory. The socket stays open.
func (c *Conn) Unshare() {
	c.dropMemory()
	if c.Rings != nil {
		c.Rings.Close()
		c.Rings = nil
	}
}

// Close closes socket and memory. A second call does nothing.
func (c *Conn) Close() {
	c.Unshare()
	if c.fd != netx.NoFD {
		netx.Close(c.fd)
		c.fd = netx.NoFD
	}
}
