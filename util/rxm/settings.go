package rxm

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/pull"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	rxm "gofabric/util/rxm/engine"
)

// settings are the layer's parameters (FI_OFI_RXM_*).
type settings struct {
	bufferSize             int // the eager limit
	sarLimit               int
	txSize, rxSize         int
	msgRxSize              int
	writeRndv              bool
	autoProgress           bool
	direct                 bool
	staging                int
	unexpBytes             uint64
	rendezvous             uint64
	singleCopy             int
	linger, connectTimeout time.Duration
	maxConns               int
	idleTime               time.Duration
	conns                  int // per peer
}

const (
	// stagingMax is the longest message that is copied: a chunk holds it with room for others.
	stagingMax = 16 << 10
	// bufferMin holds the headers of a rendezvous and of an atomic operation.
	bufferMin = 128
	// bufferMax is what a native peer could have at most.
	bufferMax = math.MaxInt32
)

// params defines the variables; names and meaning are native's where native has them (fi_rxm(7)).
func params() []core.Param {
	p := func(name string, t core.ParamType, def, help string) core.Param {
		return core.Param{Provider: layerName, Name: name, Type: t, Default: def, Help: help}
	}
	const taken = "taken for native's sake; "
	return []core.Param{
		p("buffer_size", core.ParamSize, "16384", "largest message that goes to a native peer in one packet, bytes; it must be the same there (also the largest inject size)"),
		p("comp_per_progress", core.ParamInt, "1", taken+"a pass receives what there is"),
		p("sar_limit", core.ParamSize, "131072", "largest message that goes to a native peer in several packets; longer ones it reads"),
		p("use_srx", core.ParamBool, "1", taken+"connections always share what they receive into"),
		p("tx_size", core.ParamSize, "2048", "default number of transmits under way per peer"),
		p("rx_size", core.ParamSize, "2048", "default number of posted receives per endpoint"),
		p("msg_tx_size", core.ParamSize, "128", taken+"a connection takes what its peer reads"),
		p("msg_rx_size", core.ParamSize, "4096", "receives that native peers are told of"),
		p("cm_progress_interval", core.ParamInt, "10000", taken+"connects advance with every pass"),
		p("cq_eq_fairness", core.ParamInt, "128", taken+"connects advance with every pass"),
		p("data_auto_progress", core.ParamBool, "0", "make progress by itself even for applications that asked for manual progress"),
		p("use_rndv_write", core.ParamBool, "0", "long messages are written to native peers rather than read by them"),
		p("enable_direct_send", core.ParamBool, "1", taken+"long messages are never copied"),
		p("enable_passthru", core.ParamBool, "0", taken+"between peers of gofabric nothing stands between the application and the connection"),
		p("detect_hmem_iface", core.ParamBool, "0", taken+"there is no device memory"),
		p("num_msg_eps", core.ParamSize, "1", "connections per peer (at most 255): with more than one, RMA and the parts of long messages to native peers go over all but the first, "+
			"and only the orders of messages and of atomics are kept; no fences then. Peers with fewer refuse what they have not"),
		p("rescan", core.ParamBool, "0", taken+"interfaces are looked up with each GetInfo"),
		p("def_wait_obj", core.ParamString, "fd", taken+"what can be waited for has a descriptor"),
		p("def_tcp_wait_obj", core.ParamString, "", taken+"see def_wait_obj"),
		p("extensions", core.ParamBool, "1", "speak without a protocol between with peers of gofabric; 0: native's packets with all"),
		p("staging_size", core.ParamSize, "4096", "messages up to this many bytes are copied and sent together (at most "+strconv.Itoa(stagingMax)+")"),
		p("unexp_bytes", core.ParamSize, "268435456", "memory for unexpected messages per endpoint, bytes; a quarter of it for any one peer, which is not read beyond"),
		p("rendezvous_size", core.ParamSize, "-1", "tagged messages longer than this many bytes wait at the sender until a receive matches them (-1: never)"),
		p("single_copy_size", core.ParamSize, "32768", "messages of at least this many bytes are copied straight out of the memory of a sender on the same host, where the system allows it (-1: never)"),
		p("max_conns", core.ParamSize, "0", "connections that an endpoint should have at most: the longest idle is closed when there are more (0: any number); none that is in use is closed"),
		p("idle_timeout", core.ParamInt, "0", "how long a connection may be idle before it is closed, milliseconds (0: for ever); the next operation connects anew"),
		p("connect_timeout", core.ParamInt, "15000", "how long a connect may take, milliseconds"),
		endpoint.LingerParam(layerName),
	}
}

// reader reads parameters and keeps the first error.
type reader struct {
	p   *core.Params
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) bound(name string, v, lo, hi int, err error) int {
	if err == nil && (v < lo || v > hi) {
		err = fmt.Errorf("FI_OFI_RXM_%s is %d, outside %d to %d", name, v, lo, hi)
	}
	if err != nil {
		r.fail(err)
	}
	return v
}

func (r *reader) int(name string, lo, hi int) int {
	v, err := r.p.Int(layerName, name)
	return r.bound(name, v, lo, hi, err)
}

func (r *reader) size(name string, lo, hi int) int {
	v, err := r.p.Size(layerName, name)
	return r.bound(name, v, lo, hi, err)
}

func (r *reader) bool(name string) bool {
	v, err := r.p.Bool(layerName, name)
	if err != nil {
		r.fail(err)
	}
	return v
}

// readSettings reads the parameters.
func readSettings(p *core.Params) (*settings, error) {
	r := &reader{p: p}
	s := &settings{rendezvous: math.MaxUint64}
	s.bufferSize = min(max(r.size("buffer_size", 0, core.MaxSize), bufferMin), bufferMax)
	s.sarLimit = r.size("sar_limit", 0, core.MaxSize)
	s.txSize, s.rxSize = r.size("tx_size", 1, 1<<20), r.size("rx_size", 1, endpoint.RxSizeMax)
	s.msgRxSize = r.size("msg_rx_size", 1, 1<<20)
	s.writeRndv, s.autoProgress, s.direct = r.bool("use_rndv_write"), r.bool("data_auto_progress"), r.bool("extensions")
	s.staging = min(r.size("staging_size", 0, core.MaxSize), stagingMax)
	s.unexpBytes = uint64(r.size("unexp_bytes", 4096, core.MaxSize))
	if v := r.size("rendezvous_size", 0, core.MaxSize); v < core.MaxSize {
		s.rendezvous = uint64(v)
	}
	s.singleCopy = r.size("single_copy_size", 0, core.MaxSize)
	s.connectTimeout = time.Duration(r.int("connect_timeout", 1, math.MaxInt32)) * time.Millisecond
	s.linger = time.Duration(r.int("linger", 0, math.MaxInt32)) * time.Millisecond
	s.maxConns = r.size("max_conns", 0, core.MaxSize)
	s.idleTime = time.Duration(r.int("idle_timeout", 0, math.MaxInt32)) * time.Millisecond
	s.conns = min(max(r.size("num_msg_eps", 0, core.MaxSize), 1), math.MaxUint8)
	return s, r.err
}

// conn is what connections need of the settings and of an endpoint's attributes.
func (s *settings) conn(txSize, inject int) *engine.Config {
	c := &engine.Config{
		StageMax:       max(s.staging, inject),
		StageLimit:     128 << 10,
		TxDepth:        txSize,
		RendezvousOver: s.rendezvous,
		HandshakeNanos: int64(s.connectTimeout),
		InternalMax:    internalMax, // what any peer of ours can have under way: see there
	}
	if s.direct {
		c.Features = wire.FeatureExtended | wire.FeatureDirect | wire.FeatureSeals | wire.FeatureShow | wire.FeatureVerdicts | wire.FeatureEnd
		if s.singleCopy < core.MaxSize {
			c.CMA, c.CMAOver = pull.New(), s.singleCopy
		}
	}
	return c
}

// gateway is how native peers are talked to, but for what each says of itself.
func (s *settings) gateway() *rxm.Config {
	return &rxm.Config{BufferSize: s.bufferSize, EagerLimit: s.bufferSize, SARLimit: s.sarLimit, RndvWrite: s.writeRndv, Spread: s.conns > 1}
}

// upper and lower are what the two connections between the endpoint and a native peer need.
func (s *settings) upper(txSize int) *engine.Config {
	return &engine.Config{StageMax: min(s.staging, s.bufferSize), StageLimit: 128 << 10, TxDepth: txSize, RendezvousOver: math.MaxUint64,
		AtomicMax: s.gateway().AtomicMax(), NativeAtomics: true, InternalMax: internalMax}
}

func (s *settings) lower() *engine.Config {
	return &engine.Config{StageMax: min(s.staging, stagingMax), StageLimit: 128 << 10, TxDepth: 1 << 20, RendezvousOver: math.MaxUint64, InternalMax: internalMax,
		Prefix: rxm.TaggedPrefix}
}

// rxLimits bounds what receive contexts keep.
func (s *settings) rxLimits() endpoint.RxLimits { return endpoint.RxLimits{Bytes: s.unexpBytes} }
