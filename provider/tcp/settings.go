package tcp

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"gofabric/core"
	"gofabric/internal/cma"
	"gofabric/internal/endpoint"
	"gofabric/internal/netx"
	"gofabric/internal/params"
	"gofabric/internal/shm"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// settings are the provider's parameters (FI_TCP_*).
type settings struct {
	portLow, portHigh int
	txSize, rxSize    int
	maxInject         int
	maxSaved          int
	maxSavedSize      uint64
	singleCopy        int
	localSockets      bool
	localMemory       bool
	noDelay           bool
	staging, prefetch int
	noAutoProgress    bool
	firewall          bool
	unexpBytes        uint64
	connectTimeout    time.Duration
	peerTimeout       time.Duration
	linger            time.Duration
	provName          string
}

// Upper limits of the parameters.
const (
	portMax     = 65535
	stagingMax  = 16 << 10 // a copied message must fit into a chunk with room for others
	prefetchMax = 1 << 20
)

// defs defines the variables. Those of libfabric's tcp have its names and meanings (fi_tcp(7)).
func defs() []core.Param {
	p := func(name string, t core.ParamType, def, help string) core.Param {
		return core.Param{Provider: "tcp", Name: name, Type: t, Default: def, Help: help}
	}
	return []core.Param{
		p("iface", core.ParamString, "", "interfaces to use: a comma list of names, globs (eth*), networks (10.0.0.0/8) or addresses; a leading ^ excludes them"),
		p("prov_name", core.ParamString, "tcp", "rename the provider, for tests"),
		p("port_low_range", core.ParamInt, "0", "lowest port that endpoints without a port of their own listen on (0: the system chooses)"),
		p("port_high_range", core.ParamInt, "0", "highest port that such endpoints listen on"),
		p("tx_size", core.ParamSize, "256", "default number of transmits in progress per endpoint"),
		p("rx_size", core.ParamSize, "256", "default number of posted receives per endpoint"),
		p("max_inject", core.ParamSize, "128", "largest message of an inject call, bytes (at most "+strconv.Itoa(stagingMax)+")"),
		p("max_saved", core.ParamInt, "0", "unexpected messages kept per peer; beyond that its connection is not read (0: any number; see unexp_bytes)"),
		p("max_saved_size", core.ParamSize, "-1", "tagged messages longer than this many bytes wait at the sender until a receive matches them (-1: never)"),
		p("unexp_bytes", core.ParamSize, "268435456", "memory for unexpected messages per receive context, bytes; one peer can use a quarter of it, and its connection is not read beyond that"),
		p("single_copy_size", core.ParamSize, "32768", "messages of at least this many bytes are copied directly from the memory of a sender on the same host, if the system allows it (-1: never)"),
		p("local_memory", core.ParamBool, "1", "move connections between processes of one host to shared memory, while there are few such peers: no system calls while both poll"),
		p("local_sockets", core.ParamBool, "1", "move connections between processes of one host to a local socket, at half the cost of loopback (0: keep TCP, for instance to capture packets)"),
		p("nodelay", core.ParamBool, "1", "set TCP_NODELAY"),
		p("staging_sbuf_size", core.ParamInt, "4096", "messages up to this many bytes are copied and sent together (0: inject only)"),
		p("prefetch_rbuf_size", core.ParamInt, "65536", "bytes received at once when small messages flow"),
		p("disable_auto_progress", core.ParamBool, "0", "make progress only in calls of the application"),
		p("firewall_addr", core.ParamBool, "0", "accept no connections; peers answer over the connections that this node opens"),
		p("connect_timeout", core.ParamInt, "15000", "how long a connect may take, milliseconds"),
		endpoint.LingerParam("tcp"),
		p("peer_timeout", core.ParamInt, "20000", "how long a peer may be unresponsive before its connection ends, milliseconds (0: for ever)"),
	}
}

// readSettings reads the parameters; a nil store gives the defaults.
func readSettings(p *core.Params) (*settings, error) {
	r := params.Read(p, "tcp", defs())
	s := &settings{maxSavedSize: math.MaxUint64}
	s.portLow, s.portHigh = r.Int("port_low_range", 0, portMax), r.Int("port_high_range", 0, portMax)
	if s.portLow > s.portHigh {
		r.Fail(fmt.Errorf("FI_TCP_PORT_LOW_RANGE %d is above FI_TCP_PORT_HIGH_RANGE %d", s.portLow, s.portHigh))
	}
	s.txSize, s.rxSize = r.Size("tx_size", 1, maxCtxSize), r.Size("rx_size", 1, endpoint.RxSizeMax)
	s.maxInject = r.Size("max_inject", 0, stagingMax)
	s.maxSaved = max(r.Int("max_saved", -1, math.MaxInt32), 0)
	if v := r.Size("max_saved_size", 0, core.MaxSize); v < core.MaxSize {
		s.maxSavedSize = uint64(v)
	}
	s.singleCopy = r.Size("single_copy_size", 0, core.MaxSize)
	s.unexpBytes = uint64(r.Size("unexp_bytes", 4096, core.MaxSize))
	s.noDelay = r.Bool("nodelay")
	s.staging = min(max(r.Int("staging_sbuf_size", 0, math.MaxInt32), s.maxInject), stagingMax)
	s.prefetch = min(max(r.Int("prefetch_rbuf_size", 0, math.MaxInt32), 4096), prefetchMax)
	s.localSockets = r.Bool("local_sockets") && netx.HasLocal
	s.localMemory = r.Bool("local_memory") && shm.Possible
	s.noAutoProgress, s.firewall = r.Bool("disable_auto_progress"), r.Bool("firewall_addr")
	s.connectTimeout, s.peerTimeout, s.linger = r.Millis("connect_timeout", 1), r.Millis("peer_timeout", 0), r.Millis("linger", 0)
	if s.provName = r.String("prov_name"); s.provName == "" {
		s.provName = "tcp"
	}
	return s, r.Err()
}

// firewallOption returns the value of core.OptFirewallAddr.
func (s *settings) firewallOption() int {
	if s.firewall {
		return 1
	}
	return 0
}

// rxLimits returns the memory limits of receive contexts.
func (s *settings) rxLimits() endpoint.RxLimits {
	return endpoint.RxLimits{Bytes: s.unexpBytes, PeerMessages: s.maxSaved}
}

// config returns the engine's configuration from the settings and the size of an endpoint's transmit queue.
func (s *settings) config(txSize int) *engine.Config {
	c := &engine.Config{
		Features:       wire.FeatureExtended | wire.FeatureSeals | wire.FeatureShow | wire.FeatureVerdicts | wire.FeatureEnd,
		StageMax:       s.staging,
		StageLimit:     128 << 10,
		TxDepth:        txSize,
		RendezvousOver: s.maxSavedSize,
		HandshakeNanos: int64(s.connectTimeout),
		InternalMax:    maxCtxSize, // the largest tx size of any gofabric peer; see engine.Config
	}
	if s.singleCopy < core.MaxSize {
		c.CMA, c.CMAOver = cma.New(), s.singleCopy
	}
	return c
}
