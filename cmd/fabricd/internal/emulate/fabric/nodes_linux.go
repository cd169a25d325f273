package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/emulate/topology"
)

// ringFrames is the number of frames that wait in an interface for the loop before the kernel drops some: the
// frames of a sender in a few milliseconds without the loop.
const ringFrames = 8192

// nodes has the namespaces and interfaces of a fabric.
type nodes struct {
	net    *network
	spaces []int             // descriptors of the namespaces, by node
	taps   []int             // of the interfaces, by face
	asks   []*netlink.Handle // netlink sockets of the namespaces, for queries about interfaces
	links  []int             // indices of the interfaces there, by face
	wake   int               // an eventfd that wakes the loop
	ending atomic.Bool       // the loop must end
}

// newNodes makes the namespaces, with all interfaces up.
func newNodes(n *network) (*nodes, error) {
	ns := &nodes{net: n, wake: -1}
	for i := range n.top.Nodes {
		if err := ns.add(i); err != nil {
			return nil, errors.Join(fmt.Errorf("node %s: %w", n.top.Nodes[i].Name, err), ns.close())
		}
	}
	var err error
	if ns.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, errors.Join(err, ns.close())
	}
	return ns, nil
}

// add makes node i.
func (ns *nodes) add(i int) error { return onThread(func() error { return ns.configure(i) }) }

// onThread runs work on a thread of its own, which may remain in a namespace or have real-time priority: the thread
// is never unlocked, and ends with this call. It does not use the process' first thread: that one cannot end, and
// the system takes its namespace for that of the whole process.
func onThread(work func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			result <- onThread(work) // on another thread, as this is the first one
			runtime.UnlockOSThread()
			return
		}
		result <- work()
	}()
	return <-result
}

// configure makes the namespace of node i around the calling thread, with its interfaces.
func (ns *nodes) configure(i int) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("the network namespace cannot be made: %w", err)
	}
	space, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("its namespace: %w", err)
	}
	ns.spaces = append(ns.spaces, space)
	ask, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	ns.asks = append(ns.asks, ask)
	settle()
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	for j := range ns.net.top.Nodes[i].Interfaces {
		if err := ns.plug(&ns.net.top.Nodes[i].Interfaces[j]); err != nil {
			return err
		}
	}
	return nil
}

// settle configures the kernel of the namespace: it sends no unsolicited packets, does not wait for duplicate
// address detection, and lets all users ping. Nodes work without a setting that the system lacks or forbids.
func settle() {
	for _, s := range [][2]string{
		{"net/ipv6/conf/default/accept_dad", "0"},
		{"net/ipv6/conf/default/router_solicitations", "0"},
		{"net/ipv4/ping_group_range", "0 0"}, // the only group of the user namespace
		{"net/ipv4/ping_group_range", "0 2147483647"},
	} {
		_ = os.WriteFile("/proc/sys/"+s[0], []byte(s[1]), 0)
	}
}

// plug makes the next interface, in the namespace of the calling thread.
func (ns *nodes) plug(face *topology.Interface) error {
	me := &ns.net.faces[len(ns.taps)]
	fd, err := openTap(face.Name)
	if err != nil {
		return err
	}
	ns.taps = append(ns.taps, fd)
	fail := func(what string, err error) error { return fmt.Errorf("%s: %s: %w", face.Name, what, err) }
	l, err := netlink.LinkByName(face.Name)
	if err != nil {
		return fail("it does not exist", err)
	}
	ns.links = append(ns.links, l.Attrs().Index)
	if err := netlink.LinkSetHardwareAddr(l, me.mac[:]); err != nil {
		return fail("Ethernet address", err)
	}
	if err := netlink.LinkSetMTU(l, ns.net.top.MTU); err != nil {
		return fail("mtu", err)
	}
	if err := netlink.LinkSetTxQLen(l, ringFrames); err != nil {
		return fail("queue", err)
	}
	for _, p := range face.Addresses {
		a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}, Flags: unix.IFA_F_NODAD}
		if err := netlink.AddrAdd(l, a); err != nil && !(p.Addr().Is6() && errors.Is(err, unix.EACCES)) { // EACCES: IPv6 is disabled
			return fail("address "+p.String(), err)
		}
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return fail("up", err)
	}
	return ns.introduce(l, face)
}

// introduce adds permanent neighbour entries (ip-neighbour(8)). Frames of address resolution could be lost, too,
// and would shift the effects of a seed.
func (ns *nodes) introduce(l netlink.Link, face *topology.Interface) error {
	for i := range ns.net.faces {
		other := &ns.net.faces[i]
		there := &ns.net.top.Nodes[other.node].Interfaces[other.index]
		if there == face || there.Segment != face.Segment {
			continue
		}
		for _, p := range there.Addresses {
			n := &netlink.Neigh{LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: p.Addr().AsSlice(), HardwareAddr: other.mac[:]}
			if err := netlink.NeighSet(n); err != nil && !p.Addr().Is6() {
				return fmt.Errorf("%s: neighbour %v: %w", face.Name, p.Addr(), err)
			}
		}
	}
	return nil
}

// openTap makes a TAP device in the namespace of the calling thread.
func openTap(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s: the TAP device cannot be made: %w", name, err)
	}
	return fd, nil
}

// carrier sets or removes the carrier of an interface.
func (ns *nodes) carrier(face int, on bool) {
	v := 0
	if on {
		v = 1
	}
	_ = unix.IoctlSetPointerInt(ns.taps[face], unix.TUNSETCARRIER, v) // kernels before 5.0 do not have it: frames are lost anyway
}

// overruns returns the number of frames that a node sent and its interface had no room for: the loop did not run,
// or the node sends faster than the loop reads.
func (ns *nodes) overruns(face int) uint64 {
	l, err := ns.asks[ns.net.faces[face].node].LinkByIndex(ns.links[face])
	if err != nil || l.Attrs().Statistics == nil {
		return 0 // a program in the node has removed the interface
	}
	return l.Attrs().Statistics.TxDropped
}

// write writes a frame to the kernel of a node.
func (ns *nodes) write(face int, b []byte) bool {
	_, err := unix.Write(ns.taps[face], b)
	return err == nil
}

// file returns the path of node i's namespace, for processes that may access this process.
func (ns *nodes) file(i int) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.spaces[i]) }

// pid returns the process that holds the namespaces.
func (ns *nodes) pid() int { return os.Getpid() }

// stop ends the loop.
func (ns *nodes) stop() {
	ns.ending.Store(true)
	ns.wakeLoop()
}

// wakeLoop makes the loop check the deadlines.
func (ns *nodes) wakeLoop() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	_, _ = unix.Write(ns.wake, one) // it only fails if the counter overflows (eventfd(2))
}

// close frees all resources.
func (ns *nodes) close() error {
	var errs []error
	for _, fd := range append(append([]int{}, ns.taps...), ns.spaces...) {
		errs = append(errs, unix.Close(fd))
	}
	if ns.wake >= 0 {
		errs = append(errs, unix.Close(ns.wake))
	}
	for _, ask := range ns.asks {
		ask.Close()
	}
	ns.taps, ns.spaces, ns.asks, ns.wake = nil, nil, nil, -1
	return errors.Join(errs...)
}
