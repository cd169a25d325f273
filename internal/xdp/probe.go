//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
)

// Usage describes how an interface is or would be used, as far as that is known without opening it.
type Usage struct {
	Open bool // this process has it open: all fields are certain
	Mode Mode // Auto: Driver if the driver has support, which only Open knows
	// PacketSocket is the reason why single packets do not leave through a packet socket. It is nil if they do,
	// unless the driver turns out to have zero-copy.
	PacketSocket error
	BusyPoll     error // why Receive does not poll the driver (Config.BusyPoll); nil: it does, in driver mode
}

// Probe reports whether Open may succeed on an interface of the calling thread's network namespace. It returns nil,
// or an *Error with the first missing condition. It attaches nothing. Some conditions are known only to the driver;
// Open checks them. An interface that this process has open can be opened.
func Probe(name string, c Config) error {
	_, err := Inspect(name, c)
	return err
}

// Inspect is Probe, and also returns how the interface would be used.
func Inspect(name string, c Config) (Usage, error) {
	ifc, err := net.InterfaceByName(name)
	if err != nil {
		return Usage{}, named(name, newError(NoInterface, nil))
	}
	open, err := isOpen(ifc.Index)
	if err != nil {
		return Usage{}, err
	}
	if open != nil {
		return open.Usage(), nil
	}
	if err = probe(ifc, c); err != nil {
		return Usage{}, named(name, err)
	}
	return Usage{Mode: c.Mode, PacketSocket: noPacketSocket(name, &c), BusyPoll: noBusyPoll(&c)}, nil
}

// Usage returns how the interface is used.
func (i *Interface) Usage() Usage {
	return Usage{Open: true, Mode: i.mode, PacketSocket: i.packets.why, BusyPoll: i.noBusyPoll()}
}

// noBusyPoll returns why receiving would not poll the driver, as far as that is known before the interface is open.
func noBusyPoll(c *Config) error {
	switch {
	case c.BusyPoll <= 0:
		return errBusyOff
	case c.Mode == Generic:
		return errBusyGeneric
	}
	return nil
}

func probe(ifc *net.Interface, c Config) error {
	if err := checkLink(ifc); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socketError(err)
	}
	unix.Close(fd)
	p, err := loadProgram(1, 1, true)
	if err != nil {
		return err
	}
	p.close()
	if c, err = c.complete(queuesOf(ifc.Name), ifc.MTU); err != nil {
		return err
	}
	if err := checkMemlock(&c); err != nil {
		return err
	}
	if id := attachedTo(ifc.Index); id != 0 {
		return ownerError(id)
	}
	return nil
}

// isOpen returns the interface if this process has it open.
func isOpen(index int) (*Interface, error) {
	ns, err := namespaceID()
	if err != nil {
		return nil, err
	}
	openInterfaces.mu.Lock()
	defer openInterfaces.mu.Unlock()
	return openInterfaces.m[interfaceID{ns, index}], nil
}

// checkMemlock reports whether the umem may be pinned. All of it is pinned. Systems usually allow some megabytes,
// which is less than an interface needs.
func checkMemlock(c *Config) error {
	u, err := newUmem(c.Queues, c)
	if err != nil {
		return newError(NoMemory, err)
	}
	defer u.close()
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socketError(err)
	}
	defer unix.Close(fd)
	if errno := sysSetUmem(netx.FD(fd), u.mem, u.chunkSize()); errno != 0 {
		return umemError(errno, len(u.mem))
	}
	return nil
}

// named adds the interface to an error of this package.
func named(name string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Interface == "" {
		e.Interface = name
	}
	return err
}

// socketError returns the reason why an AF_XDP socket could not be opened.
func socketError(err error) error {
	switch err {
	case unix.EPERM, unix.EACCES:
		return newError(NoRaw, err)
	case unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT:
		return newError(OldKernel, err)
	}
	return fmt.Errorf("AF_XDP socket: %w", err)
}

// umemError returns the reason why memory could not be registered.
func umemError(errno unix.Errno, size int) error {
	var lim unix.Rlimit
	if errno == unix.ENOBUFS { // xdp_umem_account_pages
		unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim)
		return newError(NoMemlock, fmt.Errorf("%d KiB of locked memory are needed; the limit for all processes of this user is %d KiB", size>>10, lim.Cur>>10))
	}
	if errno == unix.ENOMEM {
		return newError(NoMemory, errno)
	}
	return fmt.Errorf("AF_XDP memory of %d KiB: %w", size>>10, errno)
}

// loadError returns the reason why the maps or the program could not be loaded.
func loadError(err error) error {
	var refused *ebpf.VerifierError
	switch {
	case errors.As(err, &refused) && !errors.Is(err, unix.EPERM):
		return err // EACCES or EINVAL: the kernel's verifier refuses the program
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return newError(NoBPF, unix.EPERM) // without the text of the library, which guesses at the reason
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, ebpf.ErrNotSupported):
		return newError(OldKernel, err)
	case errors.Is(err, unix.ENOMEM):
		return newError(NoMemory, err)
	}
	return err
}

// attachError returns the reason why the program could not be attached.
func attachError(err error, ifindex int, mode Mode) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return newError(NoBPF, err)
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		if id := attachedTo(ifindex); id != 0 || errors.Is(err, unix.EBUSY) {
			return ownerError(id)
		}
		return newError(OtherAbove, err)
	// bpf_xdp_link_attach in net/core/dev.c
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL) && !isThere(ifindex):
		return newError(NoInterface, err)
	case mode == Driver && !errors.Is(err, ebpf.ErrNotSupported):
		return newError(NoDriverMode, err) // usually EOPNOTSUPP, but drivers have their own errors
	}
	return newError(OldKernel, err) // links of XDP programs came with Linux 5.9
}

// isThere reports whether the calling thread's namespace has an interface with this number.
func isThere(ifindex int) bool {
	_, err := net.InterfaceByIndex(ifindex)
	return err == nil
}

// bindError returns the reason why a queue could not be bound.
func bindError(err error, queue uint32) error {
	where := fmt.Errorf("queue %d: %w", queue, err)
	switch err {
	case unix.EBUSY:
		return newError(QueueTaken, where)
	case unix.EINVAL, unix.ERANGE:
		return newError(QueueCount, where)
	case unix.EOPNOTSUPP:
		return newError(NoZeroCopy, where)
	case unix.ENODEV:
		return newError(NoInterface, where)
	case unix.ENETDOWN:
		return newError(InterfaceDown, where)
	case unix.ENOMEM, unix.ENOBUFS:
		return newError(NoMemory, where)
	}
	return where
}

// ownerError describes the program that is attached to the interface.
func ownerError(id uint32) error {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err != nil { // it needs CAP_SYS_ADMIN, or the program has just gone
		return newError(OtherProgram, fmt.Errorf("number %d", id))
	}
	defer p.Close()
	if info, err := p.Info(); err == nil {
		if info.Name == programName {
			return newError(OtherOwner, fmt.Errorf("its program is number %d", id))
		}
		return newError(OtherProgram, fmt.Errorf("%q, number %d", info.Name, id))
	}
	return newError(OtherProgram, fmt.Errorf("number %d", id))
}

// attachedTo returns the number of the XDP program on an interface, or 0 if there is none or it is not known
// (rtnetlink(7), IFLA_XDP).
func attachedTo(ifindex int) uint32 {
	l, err := netlink.LinkByIndex(ifindex)
	if err != nil || l.Attrs().Xdp == nil {
		return 0
	}
	return l.Attrs().Xdp.ProgId
}

// queuesOf returns the number of queues on which an interface receives and transmits, or 1 if that is not known (lo).
// A queue for only one direction does not count, because a socket has both.
func queuesOf(name string) int {
	c, errno := channelsOf(name)
	if errno != 0 {
		return 1
	}
	return max(1, int(c.combined+min(c.rx, c.tx)))
}

// sendQueuesOf returns the number of queues on which an interface transmits, or 1 if that is not known.
func sendQueuesOf(name string) int {
	c, errno := channelsOf(name)
	if errno != 0 {
		return 1
	}
	return max(1, int(c.combined+c.tx))
}

func channelsOf(name string) (channels, unix.Errno) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return channels{}, unix.ENODEV
	}
	defer unix.Close(fd)
	return sysChannels(netx.FD(fd), name)
}

// checkLink returns the reason why an interface cannot be used. Packets of some have no Ethernet header (tun,
// tunnels).
func checkLink(ifc *net.Interface) error {
	l, err := netlink.LinkByIndex(ifc.Index)
	if err != nil {
		return err
	}
	if kind := l.Attrs().EncapType; kind != "ether" && kind != "loopback" {
		return newError(NotEthernet, nil)
	}
	if ifc.Flags&net.FlagUp == 0 {
		return newError(InterfaceDown, nil)
	}
	return nil
}

// threadNamespace is the network namespace of the calling thread. Goroutines run on threads that may be in different
// ones.
const threadNamespace = "/proc/thread-self/ns/net"

// namespaceID returns a number that identifies the network namespace.
func namespaceID() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(threadNamespace, &st); err != nil {
		return 0, fmt.Errorf("AF_XDP: the network namespace: %w; is /proc mounted?", &os.PathError{Op: "stat", Path: threadNamespace, Err: err})
	}
	return st.Ino, nil
}
