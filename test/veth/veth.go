//go:build linux

package veth

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/test/need"
)

// End is the name of the interface at each end of a veth pair.
const End = "eth9"

// prefix is the prefix of the names of all namespaces that this package makes. The process id of the maker and a
// number follow.
const prefix = "gofabric-"

// Host is a network namespace.
type Host struct {
	T      testing.TB
	Name   string
	V4, V6 netip.Addr // of End
}

// Options are the properties of a veth pair. The zero value of each field except Net is a good choice.
type Options struct {
	Net    int // the addresses are 10.Net.0.1 and .2, and fdNet::1 and ::2 with the same digits; below 100
	Queues int // of each end, in both directions; 0: the system's default
	MTU    int // bytes; 0: the system's default
}

var (
	sweepOnce sync.Once
	made      atomic.Int32
)

// NewHost makes a host that has only lo.
func NewHost(t testing.TB) *Host {
	t.Helper()
	need.Root(t, "making network namespaces")
	need.Programs(t, "iproute2", "ip")
	sweepOnce.Do(sweep)
	h := &Host{T: t, Name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1))}
	if out, err := exec.Command("ip", "netns", "add", h.Name).CombinedOutput(); err != nil {
		need.Missing(t, "network namespaces cannot be made here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", h.Name).Run() })
	h.IP("link", "set", "lo", "up")
	return h
}

// sweep deletes the namespaces of test processes that were killed.
func sweep() {
	out, _ := exec.Command("ip", "netns", "list").Output()
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(name, prefix)
		maker, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(maker); ours && err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			exec.Command("ip", "netns", "del", name).Run()
		}
	}
}

// Pair makes two hosts with a veth pair between them.
func Pair(t testing.TB, o Options) (a, b *Host) {
	t.Helper()
	a, b = NewHost(t), NewHost(t)
	lay(t, a, End, b, End, o)
	for i, h := range []*Host{a, b} {
		h.V4, h.V6 = netip.AddrFrom4([4]byte{10, byte(o.Net), 0, byte(i + 1)}),
			netip.MustParseAddr(fmt.Sprintf("fd%02d::%d", o.Net, i+1))
		h.address(o.MTU)
	}
	return a, b
}

// lay makes a veth pair between two hosts. Both interfaces are down.
func lay(t testing.TB, a *Host, nameA string, b *Host, nameB string, o Options) {
	t.Helper()
	var queues []string
	if o.Queues > 0 {
		queues = []string{"numtxqueues", fmt.Sprint(o.Queues), "numrxqueues", fmt.Sprint(o.Queues)}
	}
	args := append([]string{"-n", a.Name, "link", "add", nameA}, queues...)
	args = append(append(args, "type", "veth", "peer", "name", nameB, "netns", b.Name), queues...)
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		need.Missing(t, "veth interfaces cannot be made here: %v: %s", err, out)
	}
}

// address takes the host's end up and sets its addresses. The MTU is the system's default if it is 0.
func (h *Host) address(mtu int) {
	h.T.Helper()
	if mtu > 0 {
		h.IP("link", "set", End, "mtu", fmt.Sprint(mtu))
	}
	h.Batch("link set "+End+" up", fmt.Sprintf("addr add %v/24 dev %s", h.V4, End),
		fmt.Sprintf("addr add %v/64 dev %s nodad", h.V6, End))
}

// Replace removes the veth pair at h's end and makes another one with b. mine and theirs are extra arguments of
// ip-link(8) for the two ends.
func (h *Host) Replace(b *Host, mine, theirs []string) {
	h.T.Helper()
	h.IP("link", "del", End)
	h.Lay(b, mine, theirs)
}

// Lay makes a veth pair with b. mine and theirs are extra arguments of ip-link(8) for the two ends. Neither host may
// have a veth pair.
func (h *Host) Lay(b *Host, mine, theirs []string) {
	h.T.Helper()
	args := append([]string{"link", "add", End}, mine...)
	h.IP(append(append(args, "type", "veth", "peer", "name", End, "netns", b.Name), theirs...)...)
	h.address(0)
	b.address(0)
}

// IP runs ip(8) in the host.
func (h *Host) IP(args ...string) string {
	h.T.Helper()
	out, err := exec.Command("ip", append([]string{"-n", h.Name}, args...)...).CombinedOutput()
	if err != nil {
		h.T.Fatalf("%s: ip %s: %v\n%s", h.Name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Address adds addresses to an interface of the host. They can be bound at once: without nodad the kernel makes those
// of IPv6 usable some time later, even on lo.
func (h *Host) Address(dev string, prefixes ...string) {
	h.T.Helper()
	for _, p := range prefixes {
		if strings.Contains(p, ":") {
			h.IP("addr", "add", p, "dev", dev, "nodad")
		} else {
			h.IP("addr", "add", p, "dev", dev, "brd", "+")
		}
	}
}

// Batch runs several ip(8) commands in the host, one after the other, in one process. Starting a process takes most of
// the time.
func (h *Host) Batch(commands ...string) {
	h.T.Helper()
	cmd := exec.Command("ip", "-n", h.Name, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		h.T.Fatalf("%s: ip %s: %v\n%s", h.Name, strings.Join(commands, "; "), err, out)
	}
}

// Command returns a command that runs in the host.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.Name, name}, args...)...)
}

// Set writes a kernel parameter of the host (sysctl(8), with slashes).
func (h *Host) Set(name, value string) {
	h.T.Helper()
	h.Inside(func() error { return os.WriteFile("/proc/sys/"+name, []byte(value), 0) })
}

// setns moves the calling thread into the host.
func (h *Host) setns() error {
	f, err := os.Open("/run/netns/" + h.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
}

// Enter moves the calling thread into the host. Sockets that it opens stay there. The goroutine keeps its thread for
// good, because a thread in another namespace must not run other goroutines.
func (h *Host) Enter() {
	h.T.Helper()
	runtime.LockOSThread()
	if err := h.setns(); err != nil {
		h.T.Fatalf("%s: %v", h.Name, err)
	}
}

// Inside calls f on a thread that is in the host. Sockets that it opens stay there.
func (h *Host) Inside(f func() error) {
	h.T.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := h.setns()
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		h.T.Fatalf("%s: %v", h.Name, err)
	}
}

// Interface returns the current state of an interface of the host.
func (h *Host) Interface(name string) (ifc *net.Interface) {
	h.T.Helper()
	h.Inside(func() (err error) { ifc, err = net.InterfaceByName(name); return err })
	return ifc
}
