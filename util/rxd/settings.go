package rxd

import (
	"fmt"
	"math"
	"time"

	"gofabric/core"
	"gofabric/internal/layer"
	"gofabric/internal/params"
	"gofabric/internal/transport/datagram"
	"gofabric/internal/xnet/engine"
)

// settings are the layer's parameters (FI_OFI_RXD_*).
type settings struct {
	layer.Transfers
	maxPeers, maxUnacked       int
	recvWindow                 int
	handshake, peer, keepAlive time.Duration
}

// defs defines the variables. Names and meanings are native's where native has the variable (fi_rxd(7)).
func defs() []core.Param {
	p := func(name string, t core.ParamType, def, help string) core.Param {
		return core.Param{Provider: layerName, Name: name, Type: t, Default: def, Help: help}
	}
	return append([]core.Param{
		p("spin_count", core.ParamInt, "1000", "has no effect (native's variable): a pass receives all datagrams that have arrived"),
		p("retry", core.ParamBool, "1", "has no effect (native's variable): lost packets are always sent again"),
		p("max_peers", core.ParamInt, "65536", "largest number of peers that contact this endpoint first; there is no limit on peers in the address vector"),
		p("max_unacked", core.ParamInt, "128", "largest number of unacknowledged packets to a native peer"),
		p("rescan", core.ParamBool, "0", "has no effect (native's variable): each GetInfo looks up the interfaces"),
		p("extensions", core.ParamBool, "1", "use the extension with gofabric peers; 0: native packets with all peers"),
		p("recv_window", core.ParamSize, "0", "receive window: bytes that a peer may send before the endpoint has processed them (0: 1 MiB on loopback, else 4 MiB, and no more than half of the receive buffer)"),
		p("handshake_timeout", core.ParamInt, "10000", "how long a peer may take to answer the handshake, milliseconds"),
		p("peer_timeout", core.ParamInt, "20000", "how long a peer may be silent while it owes an answer, milliseconds"),
		p("keepalive", core.ParamInt, "0", "time without packets after which an idle peer is probed, milliseconds (0: never)"),
	}, layer.TransferParams(layerName)...)
}

// readSettings reads the parameters. A nil store gives the defaults.
func readSettings(p *core.Params) (*settings, error) {
	r := params.Read(p, layerName, defs())
	s := &settings{Transfers: layer.ReadTransfers(r)}
	s.maxPeers, s.maxUnacked = r.Int("max_peers", 1, math.MaxInt32), r.Int("max_unacked", 1, 1<<15)
	if s.recvWindow = r.Size("recv_window", 0, 1<<30); s.recvWindow > 0 && s.recvWindow < windowMin {
		r.Fail(fmt.Errorf("%s is %d, less than %d", r.Var("recv_window"), s.recvWindow, windowMin))
	}
	s.handshake, s.peer, s.keepAlive = r.Millis("handshake_timeout", 1), r.Millis("peer_timeout", 1), r.Millis("keepalive", 0)
	return s, r.Err()
}

// conn returns the configuration of the operation engine, from the settings and an endpoint's attributes. around:
// payload may bypass the port, by a single copy.
func (s *settings) conn(txSize, inject int, around bool) *engine.Config {
	c := s.Conn(txSize, inject, ctxSize*4, around)
	c.Frugal = true
	return c
}

// Receive windows in bytes. On loopback the delay is small, and data that waits should still be in the processors'
// caches when it is read.
const (
	windowMin      = 64 << 10
	windowLoopback = 1 << 20
	windowNetwork  = 4 << 20
)

// window returns the bytes that each peer of a port may have in flight.
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
