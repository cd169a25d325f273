//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/xdp/frame"
)

// Interface is a network interface with AF_XDP sockets on its queues. A process has at most one for each, which may
// be opened any number of times. All methods may be called from any goroutine.
type Interface struct {
	name     string
	index    int
	id       interfaceID
	c        Config
	mode     Mode
	multi    bool
	zero     bool
	busyPoll bool // Receive polls the driver

	prog    *program
	u       *umem
	queues  []*queue
	packets packetSocket
	table   atomic.Pointer[map[key]*Port] // replaced, never changed in place

	mu     sync.Mutex // guards the following fields, and changes of table and maps
	ports  map[*Port]struct{}
	locals []netip.Addr
	mtu    int
	next   int // queue on which the next port transmits

	refs int // openers and ports; guarded by openInterfaces.mu
}

type interfaceID struct {
	namespace uint64
	index     int
}

// openInterfaces has the interfaces that this process has open.
var openInterfaces = struct {
	mu sync.Mutex
	m  map[interfaceID]*Interface
}{m: map[interfaceID]*Interface{}}

// Open opens an interface of the calling thread's network namespace, with its present addresses and MTU (see
// SetAddresses, SetMTU). If this process has it open already, Open returns that and ignores c. The caller must call
// Close. Errors are *Error. Open may wait some seconds until the kernel frees a queue of a socket that was closed.
// Traffic is not affected until a port is bound, but some drivers interrupt it for a moment when a program is
// attached.
func Open(name string, c Config) (*Interface, error) {
	ns, err := namespaceID()
	if err != nil {
		return nil, err
	}
	ifc, err := net.InterfaceByName(name)
	if err != nil {
		return nil, &Error{Interface: name, Reason: NoInterface, Err: err}
	}
	id := interfaceID{ns, ifc.Index}
	openInterfaces.mu.Lock()
	defer openInterfaces.mu.Unlock()
	if i := openInterfaces.m[id]; i != nil {
		i.refs++
		return i, nil
	}
	i := newInterface(ifc, id)
	if err = i.open(ifc, c); err != nil {
		i.end()
		return nil, named(name, err)
	}
	openInterfaces.m[id] = i
	return i, nil
}

func newInterface(ifc *net.Interface, id interfaceID) *Interface {
	i := &Interface{name: ifc.Name, index: ifc.Index, id: id, ports: map[*Port]struct{}{}, refs: 1, packets: packetSocket{fd: netx.NoFD}}
	i.table.Store(&map[key]*Port{})
	return i
}

// open sets up the interface. The program comes first, because another process may have attached one.
func (i *Interface) open(ifc *net.Interface, c Config) (err error) {
	if err := checkLink(ifc); err != nil {
		return err
	}
	if i.c, err = c.complete(queuesOf(i.name), ifc.MTU); err != nil {
		return err
	}
	if i.locals, err = localAddresses(i.index); err != nil {
		return err
	}
	// A missing privilege is reported before the program is loaded.
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socketError(err)
	}
	unix.Close(fd)
	if i.prog, err = loadProgram(i.c.Queues, i.c.MaxPorts, !i.c.NoMultiBuffer); err != nil {
		return err
	}
	if err := i.attach(); err != nil {
		return err
	}
	if i.u, err = newUmem(i.c.Queues, &i.c); err != nil {
		return newError(NoMemory, err)
	}
	if err := i.openQueues(!i.c.NoMultiBuffer && ifc.MTU+linkMax > i.c.ChunkSize-headroom); err != nil {
		return err
	}
	i.packets = i.openPacketSocket()
	return i.SetMTU(ifc.MTU)
}

func (i *Interface) attach() error {
	i.mode = i.c.Mode
	if i.mode == Auto {
		i.mode = Driver
	}
	err := i.attachIn(i.mode)
	if i.c.Mode == Auto && errors.Is(err, NoDriverMode) {
		i.mode = Generic
		err = i.attachIn(i.mode)
	}
	return err
}

func (i *Interface) attachIn(mode Mode) error {
	if mode == Generic && !i.c.NoMultiBuffer {
		i.prog.loadLinear()
	}
	return i.prog.attach(i.index, mode)
}

// openQueues opens and binds the sockets, gives the kernel chunks to receive into, and then lets packets in.
func (i *Interface) openQueues(multi bool) error {
	var first *socket
	for n := range i.c.Queues {
		s, err := openSocket(i.u, &i.c, uint32(n), first)
		if err != nil {
			return err
		}
		if err := s.mapRings(&i.c); err != nil {
			s.close()
			return err
		}
		i.queues = append(i.queues, newQueue(i, s, n))
		if err := s.bind(i.index, &i.c, multi, first); err != nil {
			return err
		}
		if first == nil {
			first = s
		}
	}
	i.multi, i.zero = first.multi, first.zero
	i.busyPoll = first.noBusyPoll == nil && i.mode == Driver
	for n, q := range i.queues {
		if err := i.prog.setSocket(uint32(n), int(q.s.fd)); err != nil {
			return fmt.Errorf("AF_XDP: queue %d into the map: %w", n, err)
		}
	}
	return nil
}

// end frees all resources.
func (i *Interface) end() {
	if i.prog != nil {
		i.prog.close() // first: packets go to the kernel before the sockets close
	}
	for _, q := range i.queues {
		q.s.close()
	}
	i.packets.close()
	if i.u != nil && i.u.mapped != nil {
		i.u.close()
	}
}

// Close undoes one Open. After the last one, and when all ports are closed, the program is detached, and all packets
// go to the kernel's stack.
func (i *Interface) Close() {
	openInterfaces.mu.Lock()
	defer openInterfaces.mu.Unlock()
	if i.refs--; i.refs == 0 {
		delete(openInterfaces.m, i.id)
		i.end()
	}
}

func (i *Interface) ref() {
	openInterfaces.mu.Lock()
	i.refs++
	openInterfaces.mu.Unlock()
}

// Name returns the interface's name at the time of Open.
func (i *Interface) Name() string { return i.name }

// Index returns the interface's number (if_nametoindex(3)).
func (i *Interface) Index() int { return i.index }

// Mode returns Driver or Generic.
func (i *Interface) Mode() Mode { return i.mode }

// Chunk returns the number of bytes that a frame for transmitting can have.
func (i *Interface) Chunk() int { return i.c.ChunkSize }

// MaxFrames returns the largest number of frames of a packet. Receive needs room for so many.
func (i *Interface) MaxFrames() int {
	if i.multi {
		return framesMax
	}
	return 1
}

// framesMax is MAX_SKB_FRAGS and the part before them: the kernel has no packets with more parts.
const framesMax = 18

// String describes the interface.
func (i *Interface) String() string {
	how := "copy"
	if i.zero {
		how = "zero-copy"
	}
	if i.multi {
		how += ", multi-buffer"
	}
	if i.busyPoll {
		how += ", busy polling"
	}
	how += i.prog.formStatus()
	c := &i.c
	return fmt.Sprintf("AF_XDP on %s, %v mode, %s, queues: %d, chunks of %d bytes in each: %d+%d",
		i.name, i.mode, how, c.Queues, c.ChunkSize, c.RxFrames, c.TxFrames)
}

// noBusyPoll returns why Receive does not poll the driver, or nil if it does.
func (i *Interface) noBusyPoll() error {
	switch {
	case i.mode != Driver && i.c.BusyPoll > 0:
		return errBusyGeneric
	}
	return i.queues[0].s.noBusyPoll
}

// SetMTU sets the MTU in bytes, as ip(8) shows it, after its change. Longer packets, and those that do not fit into
// the frames, go to the kernel's stack.
func (i *Interface) SetMTU(mtu int) error {
	room := i.c.ChunkSize - headroom
	if i.multi {
		room *= framesMax
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mtu = mtu
	return i.prog.setLimit(min(mtu, room-linkMax), i.multi)
}

// SetAddresses sets the host's addresses. Ports at the unspecified address receive packets to these, and packets to
// other hosts go to the kernel. Link-local addresses are those of this interface.
func (i *Interface) SetAddresses(addrs []netip.Addr) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.locals = nil
	for _, a := range addrs {
		i.locals = append(i.locals, a.Unmap().WithZone(""))
	}
	var errs []error
	for p := range i.ports {
		if p.addr.Addr().IsUnspecified() {
			errs = append(errs, i.setKeys(p, i.keysFor(p), false))
		}
	}
	return errors.Join(errs...)
}

// localAddresses returns the host's addresses. Of the link-local ones it returns only those of one interface.
func localAddresses(ifindex int) ([]netip.Addr, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var all []netip.Addr
	for _, ifc := range ifs {
		addrs, err := ifc.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			ip, _ := netip.AddrFromSlice(n.IP)
			if ip = ip.Unmap(); ip.IsLinkLocalUnicast() && ip.Is6() && ifc.Index != ifindex {
				continue
			}
			all = append(all, ip)
		}
	}
	return all, nil
}

// keysFor returns the keys of a port. An unspecified IPv6 address includes IPv4, as for a socket without IPV6_V6ONLY.
// Locked.
func (i *Interface) keysFor(p *Port) map[key]struct{} {
	keys, at := map[key]struct{}{}, p.addr
	if !at.Addr().IsUnspecified() {
		keys[keyOf(at, p.tags...)] = struct{}{}
		return keys
	}
	for _, a := range i.locals {
		if a.Is4() || at.Addr().Is6() {
			keys[keyOf(netip.AddrPortFrom(a, at.Port()), p.tags...)] = struct{}{}
		}
	}
	return keys
}

// setKeys sets the keys of p. It changes the table before the map, so that packets that the program redirects find
// their port. With strict, all keys must be free. Locked.
func (i *Interface) setKeys(p *Port, keys map[key]struct{}, strict bool) error {
	table := maps.Clone(*i.table.Load())
	for k := range p.keys {
		if _, stays := keys[k]; !stays {
			if err := i.prog.deletePort(k); err != nil {
				return err
			}
			delete(table, k)
			delete(p.keys, k)
		}
	}
	for k := range keys {
		switch owner := table[k]; {
		case owner == nil:
			table[k] = p
			p.keys[k] = struct{}{}
		case owner == p:
		case strict:
			return &Error{Interface: i.name, Reason: AddressTaken, Err: fmt.Errorf("%v", p.addr)}
		}
	}
	i.table.Store(&table)
	for k := range p.keys {
		if err := i.prog.setPort(k); err != nil {
			if errors.Is(err, unix.E2BIG) {
				err = &Error{Interface: i.name, Reason: TooManyPorts, Err: err}
			}
			return err
		}
	}
	return nil
}

// Bind returns a Port that receives the packets to an address and port. The caller has a socket bound there. It keeps
// the port number, and receives the packets that the program passes on (fragments, multicast, packets on other
// queues). An unspecified address stands for the host's addresses; ::, as for a socket without IPV6_V6ONLY, includes
// those of IPv4. The port receives packets whose VLAN tags have the numbers of tags, the outer one first. Without
// tags it receives packets without tags, and those whose tags have no number. Errors are *Error (AddressTaken,
// TooManyPorts), or those of opening descriptors.
func (i *Interface) Bind(at netip.AddrPort, tags ...frame.Tag) (*Port, error) {
	if len(tags) > frame.TagsMax || !at.IsValid() || at.Port() == 0 || at.Addr().IsMulticast() {
		return nil, fmt.Errorf("AF_XDP on %s: %v is not an address to which a port can be bound", i.name, at)
	}
	p := &Port{i: i, addr: netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), tags: tags, backlogs: make([]backlog, len(i.queues)), keys: map[key]struct{}{}}
	err := p.openEpoll()
	if err != nil {
		return nil, err
	}
	i.ref()
	i.mu.Lock()
	p.tx = i.queues[i.next%len(i.queues)]
	i.next++
	i.ports[p] = struct{}{}
	if err = p.Watch(true); err == nil {
		err = i.setKeys(p, i.keysFor(p), true)
	}
	i.mu.Unlock()
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Err returns unix.ENETDOWN once after the interface was removed, otherwise nil. The kernel does not make FD readable
// then (net/xdp/xsk.c, xsk_poll). So call Err when Flush fails, or when rtnetlink(7) reports that the link is gone.
func (i *Interface) Err() error {
	for _, q := range i.queues {
		if err := netx.SocketError(q.s.fd); err != nil {
			return err
		}
	}
	return nil
}
