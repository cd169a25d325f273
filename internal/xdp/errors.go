package xdp

import "fmt"

// Reason is the reason why AF_XDP, or one of its modes, cannot be used. It is an error, so that errors.Is finds it in
// an *Error.
type Reason int

// These are the reasons. Hint returns advice for each.
const (
	OtherSystem   Reason = iota + 1 // not Linux
	OldKernel                       // the kernel does not have AF_XDP, or not all of it
	NoRaw                           // CAP_NET_RAW is missing: no AF_XDP socket
	NoBPF                           // CAP_BPF or CAP_NET_ADMIN is missing: no program
	NoMemlock                       // RLIMIT_MEMLOCK is too low, and CAP_IPC_LOCK is missing
	NoMemory                        // the kernel has no memory for the rings
	NoInterface                     // there is no such interface
	InterfaceDown                   // the interface is down
	NoDriverMode                    // the driver cannot run programs, perhaps because of MTU or offloads
	NoZeroCopy                      // the driver has no zero-copy
	QueueCount                      // the interface has fewer queues than requested
	QueueTaken                      // an AF_XDP socket of another program has the queue
	OtherOwner                      // another process with this package uses the interface
	OtherProgram                    // a program of another package is attached
	OtherAbove                      // a program is attached to a device above it (net/core/dev.c, dev_xdp_attach)
	AddressTaken                    // another port of this process has the address
	TooManyPorts                    // the map of live ports is full
	NotEthernet                     // packets on the interface have no Ethernet header
)

const asRoot = "run as root, or setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep PROGRAM, " +
	"or docker run --cap-add=NET_RAW --cap-add=NET_ADMIN --cap-add=BPF --cap-add=IPC_LOCK"

var reasons = map[Reason]struct{ says, hint string }{
	OtherSystem:   {"only Linux has AF_XDP", "use sockets, which work everywhere"},
	OldKernel:     {"the kernel does not have AF_XDP, or not all of it", "use Linux 5.10 or later with CONFIG_XDP_SOCKETS and CONFIG_BPF_SYSCALL"},
	NoRaw:         {"CAP_NET_RAW is missing", asRoot},
	NoBPF:         {"CAP_BPF or CAP_NET_ADMIN is missing", asRoot},
	NoMemlock:     {"the process may not lock enough memory for packets", "raise the limit (ulimit -l, LimitMEMLOCK=, docker run --ulimit memlock=-1), or give CAP_IPC_LOCK"},
	NoMemory:      {"the kernel has no memory for the rings", "configure fewer frames or queues"},
	NoInterface:   {"the interface does not exist in this network namespace", "ip link lists the interfaces"},
	InterfaceDown: {"the interface is down", "ip link set INTERFACE up"},
	NoDriverMode:  {"the driver cannot run XDP programs with the interface's settings", "use generic mode, or see dmesg: the MTU or an offload (ethtool -K) often prevents driver mode"},
	NoZeroCopy:    {"the driver does not support zero-copy AF_XDP", "use copy mode"},
	QueueCount:    {"the interface has too few queues", "ethtool -l INTERFACE shows how many it has, ethtool -L sets them"},
	QueueTaken:    {"an AF_XDP socket of another program uses a queue of the interface", "end that program, or choose other queues"},
	OtherOwner:    {"another process uses AF_XDP on this interface", "only one process at a time can use it; the others use sockets"},
	OtherProgram:  {"another XDP program is attached to the interface", "bpftool net shows it; ip link set INTERFACE xdp off removes one that no program holds"},
	OtherAbove:    {"a device above the interface has an XDP program", "a VLAN device, for example: open the endpoints of the interface before those of the VLAN device, or set FI_UDP_XDP_MODE=driver for the latter"},
	AddressTaken:  {"another port of this process has the address", "open one port for each address"},
	NotEthernet:   {"the interface is not Ethernet", "use sockets, which also work on tunnels"},
	TooManyPorts:  {"the interface has no room for more ports", "open it with a larger MaxPorts"},
}

// Error returns a description of the reason.
func (r Reason) Error() string {
	if s, ok := reasons[r]; ok {
		return s.says
	}
	return fmt.Sprintf("reason %d", int(r))
}

// Hint returns advice.
func (r Reason) Hint() string { return reasons[r].hint }

// Error is the error of a call of this package.
type Error struct {
	Interface string // name of the interface, if there is one
	Reason    Reason
	Err       error // error of the system or other cause; may be nil
}

func (e *Error) Error() string {
	text := "AF_XDP"
	if e.Interface != "" {
		text += " on " + e.Interface
	}
	text += ": " + e.Reason.Error()
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	if h := e.Reason.Hint(); h != "" {
		text += "; " + h
	}
	return text
}

// Unwrap returns the reason and the system's error, for errors.Is and errors.As.
func (e *Error) Unwrap() []error { return []error{e.Reason, e.Err} }

// newError returns an error without an interface. Open adds that.
func newError(r Reason, err error) error { return &Error{Reason: r, Err: err} }
