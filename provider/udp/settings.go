package udp

import (
	"strconv"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/params"
	"gofabric/internal/shm"
)

// settings are the provider's parameters (FI_UDP_*).
type settings struct {
	mtu       int // longest message of a DGRAM endpoint, in bytes
	gso, gro  bool
	link      string
	xdpMode   string
	recvBuf   int
	xdpQueues int // 0 means all
	xdpFrags  bool
	xdpSingle bool
	xdpBusy   int // microseconds, 0 if off

	localMemory bool
	meetAfter   uint64 // datagrams
}

// Limits of the values that a user may set, in bytes.
const (
	mtuMin      = 64
	recvBufMin  = 4 << 10
	recvBufMax  = 1 << 30
	sendBuf     = 2 << 20 // size asked for: some tens of the largest runs
	recvDefault = 8 << 20

	xdpQueuesMax = 1024
	xdpBusyMax   = 1e6
	meetMost     = 1 << 30
)

// defs defines the variables. FI_UDP_IFACE is native's, the others are gofabric's.
func defs() []core.Param {
	p := func(name string, t core.ParamType, def, help string) core.Param {
		return core.Param{Provider: "udp", Name: name, Type: t, Default: def, Help: help}
	}
	return []core.Param{
		p("iface", core.ParamString, "", "interfaces to use: a comma list of names, globs (eth*), networks (10.0.0.0/8) or addresses; a leading ^ excludes them"),
		p("mtu", core.ParamSize, strconv.Itoa(nativeMTU), "longest message of a DGRAM endpoint, bytes, at most "+strconv.Itoa(netx.MaxDatagram)+
			" (native peers receive "+strconv.Itoa(nativeMTU)+"); messages that are too long for the path are fragmented"),
		p("link", core.ParamString, linkSockets, "how datagrams pass to and from the kernel: sockets (plain: one call for each; batch: one call for many; sockets: chooses between them), "+
			"or xdp (AF_XDP, which bypasses its stack; Linux with privileges; otherwise sockets are used); auto means xdp"),
		p("xdp_mode", core.ParamString, modeAuto, "where the XDP program runs: driver, generic (in the kernel's stack), or auto (generic over veth and if the driver cannot run it, else driver); "+
			"the first endpoint of a process on an interface decides for all"),
		p("xdp_frags", core.ParamBool, "1", "with AF_XDP, accept packets of several frames (jumbo MTU), and leave long packets in fragments; 0: over veth, large messages, also those of other programs, are lost if memory is fragmented"),
		p("xdp_single", core.ParamBool, "1", "with AF_XDP, send single datagrams through a packet socket instead of the rings, if the kernel copies sent packets and the interface has one queue"),
		p("gso", core.ParamBool, "1", "pass batches of datagrams to the system in one call, if it supports that (GSO)"),
		p("gro", core.ParamBool, "1", "take batches of datagrams from the system in one call, if it supports that (GRO)"),
		p("local_memory", core.ParamBool, "1", "send datagrams to endpoints of this host through memory that both share, while there are few of them: no system calls while both poll"),
		p("local_memory_after", core.ParamSize, strconv.Itoa(meetAfter), "number of datagrams to such an endpoint after which memory is shared with it"),
		p("xdp_queues", core.ParamSize, "0", "number of queues of an interface to use with AF_XDP, from the first on (0: all); packets on the other queues go through the kernel's stack"),
		p("xdp_busy_poll", core.ParamSize, "0", "with AF_XDP in driver mode, poll the driver whenever a pass finds nothing, and for this many microseconds in calls that wait (SO_BUSY_POLL); "+
			"useful where the interface defers interrupts (napi_defer_hard_irqs, gro_flush_timeout). 0: off"),
		p("recv_buffer", core.ParamSize, strconv.Itoa(recvDefault), "receive buffer to ask the system for per endpoint, bytes (net.core.rmem_max bounds it for processes without CAP_NET_ADMIN)"),
	}
}

// readSettings reads the parameters. A nil store gives the defaults.
func readSettings(p *core.Params) (*settings, error) {
	r := params.Read(p, "udp", defs())
	s := &settings{mtu: r.Size("mtu", mtuMin, netx.MaxDatagram), gso: r.Bool("gso"), gro: r.Bool("gro"), localMemory: r.Bool("local_memory") && shm.Possible,
		meetAfter: uint64(r.Size("local_memory_after", 1, meetMost)), recvBuf: r.Size("recv_buffer", recvBufMin, recvBufMax),
		xdpQueues: r.Size("xdp_queues", 0, xdpQueuesMax), xdpFrags: r.Bool("xdp_frags"), xdpSingle: r.Bool("xdp_single"),
		xdpBusy: r.Size("xdp_busy_poll", 0, xdpBusyMax), link: r.String("link"), xdpMode: r.String("xdp_mode")}
	r.Fail(checkLink(s.link))
	r.Fail(checkMode(s.xdpMode))
	return s, r.Err()
}
