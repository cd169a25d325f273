package rxm

import (
	"math"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/layer"
	"gofabric/internal/params"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	rxm "gofabric/util/rxm/gateway"
)

// settings are the layer's parameters (FI_OFI_RXM_*).
type settings struct {
	layer.Transfers
	bufferSize     int // the eager limit
	sarLimit       int
	txSize, rxSize int
	msgRxSize      int
	writeRndv      bool
	autoProgress   bool
	connectTimeout time.Duration
	maxConns       int
	idleTime       time.Duration
	conns          int // per peer
}

const (
	// bufferMin holds the headers of a rendezvous and of an atomic operation.
	bufferMin = 128
	// bufferMax is the largest size that a native peer can have.
	bufferMax = math.MaxInt32
)

// defs defines the variables. Names and meanings are native's where native has the variable (fi_rxm(7)).
func defs() []core.Param {
	p := func(name string, t core.ParamType, def, help string) core.Param {
		return core.Param{Provider: layerName, Name: name, Type: t, Default: def, Help: help}
	}
	const taken = "has no effect (native's variable): "
	return append([]core.Param{
		p("buffer_size", core.ParamSize, "16384", "largest message that goes to a native peer in one packet, bytes; it must be the same there (also the largest inject size)"),
		p("comp_per_progress", core.ParamInt, "1", taken+"a pass receives all data that has arrived"),
		p("sar_limit", core.ParamSize, "131072", "largest message that goes to a native peer in several packets; the peer reads longer ones"),
		p("use_srx", core.ParamBool, "1", taken+"connections always share their receive buffers"),
		p("tx_size", core.ParamSize, "2048", "default number of transmits in progress per peer"),
		p("rx_size", core.ParamSize, "2048", "default number of posted receives per endpoint"),
		p("msg_tx_size", core.ParamSize, "128", taken+"a connection accepts what its peer reads"),
		p("msg_rx_size", core.ParamSize, "4096", "number of receives that is announced to native peers"),
		p("cm_progress_interval", core.ParamInt, "10000", taken+"every pass advances connects"),
		p("cq_eq_fairness", core.ParamInt, "128", taken+"every pass advances connects"),
		p("data_auto_progress", core.ParamBool, "0", "make progress automatically even for applications that asked for manual progress"),
		p("use_rndv_write", core.ParamBool, "0", "write long messages to native peers, instead of letting the peers read them"),
		p("enable_direct_send", core.ParamBool, "1", taken+"long messages are never copied"),
		p("enable_passthru", core.ParamBool, "0", taken+"between gofabric peers the endpoint always posts to the connection directly"),
		p("detect_hmem_iface", core.ParamBool, "0", taken+"device memory is not supported"),
		p("num_msg_eps", core.ParamSize, "1", "connections per peer (at most 255): with more than one, RMA and the parts of long messages to native peers go over all but the first, "+
			"and only messages and atomics keep their order, and fences are not available. Peers with a smaller number refuse the additional connections"),
		p("rescan", core.ParamBool, "0", taken+"each GetInfo looks up the interfaces"),
		p("def_wait_obj", core.ParamString, "fd", taken+"each wait object is a descriptor"),
		p("def_tcp_wait_obj", core.ParamString, "", taken+"see def_wait_obj"),
		p("extensions", core.ParamBool, "1", "post directly to the connections of gofabric peers, without rxm's packets; 0: native packets with all peers"),
		p("max_conns", core.ParamSize, "0", "largest number of connections of an endpoint: when there are more, the one that has been idle longest is closed (0: any number); none in use is closed"),
		p("idle_timeout", core.ParamInt, "0", "how long a connection may be idle before it is closed, milliseconds (0: for ever); the next operation connects again"),
		p("connect_timeout", core.ParamInt, "15000", "how long a connect may take, milliseconds"),
	}, layer.TransferParams(layerName)...)
}

// readSettings reads the parameters. A nil store gives the defaults.
func readSettings(p *core.Params) (*settings, error) {
	r := params.Read(p, layerName, defs())
	s := &settings{Transfers: layer.ReadTransfers(r)}
	s.bufferSize = min(max(r.Size("buffer_size", 0, core.MaxSize), bufferMin), bufferMax)
	s.sarLimit = r.Size("sar_limit", 0, core.MaxSize)
	s.txSize, s.rxSize = r.Size("tx_size", 1, 1<<20), r.Size("rx_size", 1, endpoint.RxSizeMax)
	s.msgRxSize = r.Size("msg_rx_size", 1, 1<<20)
	s.writeRndv, s.autoProgress = r.Bool("use_rndv_write"), r.Bool("data_auto_progress")
	s.connectTimeout = r.Millis("connect_timeout", 1)
	s.maxConns = r.Size("max_conns", 0, core.MaxSize)
	s.idleTime = r.Millis("idle_timeout", 0)
	s.conns = min(max(r.Size("num_msg_eps", 0, core.MaxSize), 1), math.MaxUint8)
	return s, r.Err()
}

// internalMax is the most answers that may wait for one peer.
const internalMax = 65536

// conn returns the configuration of connections, from the settings and an endpoint's attributes.
func (s *settings) conn(txSize, inject int) *engine.Config {
	c := s.Conn(txSize, inject, internalMax, true) // see there for the operations that a gofabric peer can have posted
	c.HandshakeNanos = int64(s.connectTimeout)
	if s.Extensions {
		c.Features = wire.FeatureExtended | wire.FeatureDirect | wire.FeatureSeals | wire.FeatureShow | wire.FeatureVerdicts | wire.FeatureEnd
	}
	return c
}

// gateway returns the configuration of gateways, without the values that each native peer announces.
func (s *settings) gateway() *rxm.Config {
	return &rxm.Config{BufferSize: s.bufferSize, EagerLimit: s.bufferSize, SARLimit: s.sarLimit, RndvWrite: s.writeRndv, Spread: s.conns > 1}
}

// upper and lower return the configurations of the two connections between the endpoint and a native peer.
func (s *settings) upper(txSize int) *engine.Config {
	return &engine.Config{StageMax: min(s.Staging, s.bufferSize), StageLimit: 128 << 10, TxDepth: txSize, RendezvousOver: math.MaxUint64,
		AtomicMax: s.gateway().AtomicMax(), NativeAtomics: true, InternalMax: internalMax}
}

func (s *settings) lower() *engine.Config {
	return &engine.Config{StageMax: s.Staging, StageLimit: 128 << 10, TxDepth: 1 << 20, RendezvousOver: math.MaxUint64, InternalMax: internalMax,
		Prefix: rxm.TaggedPrefix}
}
