//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/xdp/door"
)

// portsOfLoan bounds the ports of one loan: each keeps a descriptor of the lender's.
const portsOfLoan = 1024

// Lender has the program of an interface for other processes: each has queues of its own, with memory and sockets of its own, and gets what comes on these for its
// ports. What comes for them on others goes to their sockets in the kernel's stack. All methods may be called from any goroutine.
type Lender struct {
	name  string
	index int
	c     Config // Queues: all that the interface has
	mode  Mode
	prog  *program

	mu    sync.Mutex // of what follows
	loans []*Loan    // who has each queue
	ports map[key]*Loan
}

// Loan is what one process has of an interface.
type Loan struct {
	l      *Lender
	queues []uint32
	socks  []*socket
	memory int         // a descriptor
	ports  map[key]int // and the descriptor of the socket that is bound there: while that is open, nobody else can be
	ended  bool
}

// Lend attaches the program to an interface of the calling thread's network namespace. Errors are *Error.
func Lend(name string, c Config) (*Lender, error) {
	ifc, err := net.InterfaceByName(name)
	if err != nil {
		return nil, &Error{Interface: name, Reason: NoInterface, Err: err}
	}
	l := &Lender{name: name, index: ifc.Index, ports: map[key]*Loan{}}
	if err := l.open(ifc, c); err != nil {
		l.Close()
		return nil, named(name, err)
	}
	return l, nil
}

func (l *Lender) open(ifc *net.Interface, c Config) (err error) {
	if err := checkLink(ifc); err != nil {
		return err
	}
	c.Queues = min(queuesOf(l.name), door.QueuesMax)
	if l.c, err = c.complete(c.Queues, ifc.MTU); err != nil {
		return err
	}
	l.loans = make([]*Loan, l.c.Queues)
	if l.prog, err = loadProgram(l.c.Queues, l.c.Queues, l.c.MaxPorts, true); err != nil {
		return err
	}
	i := &Interface{index: l.index, c: l.c, prog: l.prog}
	if err = i.attach(); err != nil {
		return err
	}
	l.mode = i.mode
	return l.Refresh()
}

// Close detaches the program. The loans are to be ended before.
func (l *Lender) Close() {
	if l.prog != nil {
		l.prog.close()
	}
}

// Free is how many queues nobody has.
func (l *Lender) Free() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.loans {
		if o == nil {
			n++
		}
	}
	return n
}

// Refresh looks at the interface's MTU: packets that are longer go to the kernel's stack.
func (l *Lender) Refresh() error {
	ifc, err := net.InterfaceByIndex(l.index)
	if err != nil {
		return lack(NoInterface, err)
	}
	room := l.c.ChunkSize - headroom
	return l.prog.setLimit(min(ifc.MTU, room-linkMax), false) // packets in several frames would take more than a process has said that it can
}

// Loan gives so many queues away, with memory and sockets for them. It waits some seconds for a queue that somebody else has; others can have the rest meanwhile.
// Errors are *Error: AllLent, QueueTaken, and those of the system.
func (l *Lender) Loan(queues int) (*Loan, error) {
	o, err := l.reserve(queues)
	if err != nil {
		return nil, err
	}
	if err := o.open(); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		o.close()
		o.vacate()
		return nil, named(l.name, err)
	}
	return o, nil
}

// reserve marks queues as a loan's.
func (l *Lender) reserve(queues int) (*Loan, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &Loan{l: l, memory: -1, ports: map[key]int{}}
	for q, has := range l.loans {
		if has == nil && len(o.queues) < queues {
			o.queues = append(o.queues, uint32(q))
		}
	}
	if len(o.queues) < queues || queues < 1 {
		return nil, &Error{Interface: l.name, Reason: AllLent, Err: fmt.Errorf("%d of %d are free, %d were asked for", len(o.queues), len(l.loans), queues)}
	}
	for _, q := range o.queues {
		l.loans[q] = o
	}
	return o, nil
}

// vacate makes the loan's queues free. Locked.
func (o *Loan) vacate() {
	for _, q := range o.queues {
		o.l.loans[q] = nil
	}
}

// open makes memory and sockets, and lets packets in. The receiver's part of the rings is empty: nothing comes until the process fills it.
func (o *Loan) open() error {
	c := o.l.c
	c.Queues = len(o.queues)
	u, fd, err := newLentUmem(c.Queues, &c)
	if err != nil {
		return lack(NoMemory, err)
	}
	defer u.close() // the kernel keeps what it has pinned
	o.memory = fd
	var first *socket
	for _, q := range o.queues {
		s, err := openSocket(u, &c, q, first)
		if err != nil {
			return err
		}
		o.socks = append(o.socks, s)
		if err := s.bind(o.l.index, &c, false, first); err != nil {
			return err
		}
		if first == nil {
			first = s
		}
		if err := o.l.prog.setSocket(o.base()+q, int(s.fd)); err != nil {
			return fmt.Errorf("AF_XDP: queue %d into the map: %w", q, err)
		}
	}
	return nil
}

// base is where the loan's sockets begin in the program's map: its first queue's row of as many places as there are queues.
func (o *Loan) base() uint32 { return o.queues[0] * uint32(o.l.c.Queues) }

// Terms describe the loan, and Files are what goes with it: the memory and the sockets, which stay the loan's.
func (o *Loan) Terms() *door.Terms {
	c := &o.l.c
	return &door.Terms{Mode: int(o.l.mode), Multi: o.socks[0].multi, ZeroCopy: o.socks[0].zero,
		ChunkSize: c.ChunkSize, RxFrames: c.RxFrames, TxFrames: c.TxFrames, Queues: slices.Clone(o.queues)}
}

// Files are the descriptors that go with Terms.
func (o *Loan) Files() []int {
	files := []int{o.memory}
	for _, s := range o.socks {
		files = append(files, int(s.fd))
	}
	return files
}

// Bind makes packets to an address come to the loan, whose socket fd is bound there. The descriptor is the loan's if there is no error. Errors are *Error.
func (o *Loan) Bind(at netip.AddrPort, fd int) error {
	at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	if err := boundThere(fd, at, o.l.index); err != nil {
		return named(o.l.name, err)
	}
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	k := keyOf(at)
	switch has := o.l.ports[k]; {
	case o.ended:
		return &Error{Interface: o.l.name, Reason: NoInterface}
	case has == o:
		unix.Close(fd)
		return nil
	case has != nil:
		return &Error{Interface: o.l.name, Reason: AddressTaken, Err: fmt.Errorf("%v", at)}
	case len(o.ports) >= portsOfLoan:
		return &Error{Interface: o.l.name, Reason: TooManyPorts, Err: fmt.Errorf("%d of this process", len(o.ports))}
	}
	if err := o.l.prog.setPort(k, o.base()); err != nil {
		if errors.Is(err, unix.E2BIG) {
			err = &Error{Interface: o.l.name, Reason: TooManyPorts, Err: err}
		}
		return err
	}
	o.l.ports[k], o.ports[k] = o, fd
	return nil
}

// boundThere checks that a socket is of UDP and bound to an address of this host. Without that anybody could have what comes for others: a socket may be bound
// to an address that is not the host's (IP_FREEBIND, ip(7)).
func boundThere(fd int, at netip.AddrPort, index int) error {
	proto, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if err != nil || proto != unix.IPPROTO_UDP {
		return lack(NotYours, errors.New("it is none of UDP"))
	}
	is, err := netx.LocalAddr(netx.FD(fd))
	if err != nil {
		return lack(NotYours, err)
	}
	if is = netip.AddrPortFrom(is.Addr().Unmap().WithZone(""), is.Port()); is != at || at.Port() == 0 {
		return lack(NotYours, fmt.Errorf("it is bound to %v, not to %v", is, at))
	}
	locals, err := localAddresses(index)
	if err != nil {
		return err
	}
	if !slices.Contains(locals, at.Addr()) {
		return lack(NotYours, fmt.Errorf("%v is no address of this host", at.Addr()))
	}
	return nil
}

// Unbind ends Bind.
func (o *Loan) Unbind(at netip.AddrPort) error {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	k := keyOf(netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()))
	if fd, is := o.ports[k]; is {
		return o.drop(k, fd)
	}
	return nil
}

// drop gives a port back to the kernel's stack. Locked.
func (o *Loan) drop(k key, fd int) error {
	err := o.l.prog.deletePort(k)
	delete(o.l.ports, k)
	delete(o.ports, k)
	unix.Close(fd)
	return err
}

// Close ends the loan: ports and queues are free. A process that keeps its sockets open all the same keeps the kernel from giving the queues to others.
func (o *Loan) Close() error {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	if o.ended {
		return nil
	}
	o.ended = true
	var errs []error
	for k, fd := range o.ports {
		errs = append(errs, o.drop(k, fd))
	}
	o.close()
	o.vacate()
	return errors.Join(errs...)
}

// close gives sockets and memory back. Locked.
func (o *Loan) close() {
	for n, s := range o.socks {
		o.l.prog.freeSocket(o.base() + o.queues[n]) // not there if it was never let in
		s.close()
	}
	if o.memory >= 0 {
		unix.Close(o.memory)
	}
}

// SameHost reports whether a socket is in the calling thread's network namespace (SO_NETNS_COOKIE, Linux 5.14).
func SameHost(fd int) error {
	theirs, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return lack(OldKernel, fmt.Errorf("SO_NETNS_COOKIE: %w", err))
	}
	here, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(here)
	if ours, err := unix.GetsockoptUint64(here, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err != nil || ours != theirs {
		return lack(OtherHost, err)
	}
	return nil
}
