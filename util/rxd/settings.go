package rxd

import (
	"fmt"
	"math"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/pull"
	"gofabric/internal/transport/datagram"
	"gofabric/internal/xnet/engine"
)

// settings are the layer's parameters (FI_OFI_RXD_*).
type settings struct {
	maxPeers, maxUnacked int
	extensions           bool
	staging              int
	recvWindow           int
	unexpBytes           uint64
	rendezvous           uint64
	singleCopy           int
	handshake, peer      time.Duration
	keepAlive, linger    time.Duration
}

// stagingMax is the longest message that is copied: a chunk holds it with room for others.
const stagingMax = 16 << 10

// params defines the variables; names and meaning are native's where native has them (fi_rxd(7)).
func params() []core.Param {
	p := func(name string, t core.ParamType, def, help string) core.Param {
		return core.Param{Provider: layerName, Name: name, Type: t, Default: def, Help: help}
	}
	return []core.Param{
		p("spin_count", core.ParamInt, "1000", "taken for native's sake; a pass receives what there is"),
		p("retry", core.ParamBool, "1", "taken for native's sake; lost packets are always sent again"),
		p("max_peers", core.ParamInt, "65536", "peers that may come by themselves; those that the application addresses are not bounded"),
		p("max_unacked", core.ParamInt, "128", "packets to a native peer that are not acknowledged"),
		p("rescan", core.ParamBool, "0", "taken for native's sake; interfaces are looked up with each GetInfo"),
		p("extensions", core.ParamBool, "1", "speak the extension with peers of gofabric; 0: native's packets with all"),
		p("staging_size", core.ParamSize, "4096", "messages up to this many bytes are copied and sent together (at most 16384)"),
		p("recv_window", core.ParamSize, "0", "bytes that a peer may send ahead of what was taken, at most (0: 1 MiB on loopback, else 4 MiB, and no more than half of the receive buffer)"),
		p("unexp_bytes", core.ParamSize, "268435456", "memory for unexpected messages per endpoint, bytes; a quarter of it for any one peer"),
		p("rendezvous_size", core.ParamSize, "-1", "tagged messages longer than this many bytes wait at the sender until a receive matches them (-1: never)"),
		p("single_copy_size", core.ParamSize, "32768", "messages of at least this many bytes are copied straight out of the memory of a sender on the same host, where the system allows it (-1: never; never over fault)"),
		p("handshake_timeout", core.ParamInt, "10000", "how long a peer may take to answer the first time, milliseconds"),
		p("peer_timeout", core.ParamInt, "20000", "how long a peer may be silent while it owes an answer, milliseconds"),
		p("keepalive", core.ParamInt, "0", "after what silence an idle peer is asked whether it is there, milliseconds (0: never)"),
		endpoint.LingerParam(layerName),
	}
}

// readSettings reads the parameters.
func readSettings(p *core.Params) (*settings, error) {
	s := &settings{rendezvous: math.MaxUint64}
	var err error
	check := func(name string, v, lo, hi int, e error) int {
		if e == nil && (v < lo || v > hi) {
			e = fmt.Errorf("FI_OFI_RXD_%s is %d, outside %d to %d", name, v, lo, hi)
		}
		if e != nil && err == nil {
			err = e
		}
		return v
	}
	get := func(name string, lo, hi int) int {
		v, e := p.Int(layerName, name)
		return check(name, v, lo, hi, e)
	}
	size := func(name string, lo, hi int) int {
		v, e := p.Size(layerName, name)
		return check(name, v, lo, hi, e)
	}
	ms := func(name string, lo int) time.Duration {
		return time.Duration(get(name, lo, math.MaxInt32)) * time.Millisecond
	}
	s.maxPeers, s.maxUnacked = get("max_peers", 1, math.MaxInt32), get("max_unacked", 1, 1<<15)
	on, e := p.Bool(layerName, "extensions")
	if e != nil && err == nil {
		err = e
	}
	s.extensions = on
	s.staging = min(size("staging_size", 0, core.MaxSize), stagingMax)
	if s.recvWindow = size("recv_window", 0, 1<<30); s.recvWindow > 0 && s.recvWindow < windowMin {
		return nil, fmt.Errorf("FI_OFI_RXD_RECV_WINDOW is %d, less than %d", s.recvWindow, windowMin)
	}
	s.unexpBytes = uint64(size("unexp_bytes", 4096, core.MaxSize))
	if v := size("rendezvous_size", 0, core.MaxSize); v < core.MaxSize {
		s.rendezvous = uint64(v)
	}
	s.singleCopy = size("single_copy_size", 0, core.MaxSize)
	s.handshake, s.peer = ms("handshake_timeout", 1), ms("peer_timeout", 1)
	s.keepAlive, s.linger = ms("keepalive", 0), ms("linger", 0)
	return s, err
}

// conn is what the operation engine needs of the settings and of an endpoint's attributes.
// around: payload may go around the port.
func (s *settings) conn(txSize, inject int, around bool) *engine.Config {
	c := &engine.Config{
		Frugal:         true,
		StageMax:       max(s.staging, inject),
		StageLimit:     128 << 10,
		TxDepth:        txSize,
		RendezvousOver: s.rendezvous,
		InternalMax:    ctxSize * 4,
	}
	if around && s.singleCopy < core.MaxSize {
		c.CMA, c.CMAOver = pull.New(), s.singleCopy
	}
	return c
}

// Receive windows, bytes. On loopback there is no distance to bridge, and what waits should still be in the processors' caches when it is taken.
const (
	windowMin      = 64 << 10
	windowLoopback = 1 << 20
	windowNetwork  = 4 << 20
)

// window is how much each peer of a port may send ahead.
func (s *settings) window(port datagram.Port) int {
	if s.recvWindow > 0 {
		return s.recvWindow
	}
	w := windowNetwork
	if port.Local().Addr().IsLoopback() {
		w = windowLoopback
	}
	if b, ok := port.(datagram.Buffered); ok && b.ReceiveBuffer() > 0 {
		w = min(w, b.ReceiveBuffer()/2)
	}
	return max(w, windowMin)
}

// rxLimits bounds what receive contexts keep.
func (s *settings) rxLimits() endpoint.RxLimits { return endpoint.RxLimits{Bytes: s.unexpBytes} }
