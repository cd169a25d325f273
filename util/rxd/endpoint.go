package rxd

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/session"
)

// rdmEndpoint is a reliable-datagram endpoint: a port below, and the engine with the peers. The domain's lock
// guards all of it.
type rdmEndpoint struct {
	endpoint.Reliable
	endpoint.Connectionless
	d        *domain
	prog     *progress.Engine
	eng      *session.Engine
	port     datagram.Port
	datapath int             // core.OptDatapath that was asked for, 0 if none
	byFI     []*session.Peer // by index in the address vector; nil until an operation needs the peer

	timer    *progress.Handle
	timerAt  int64
	batch    batch.Stream
	out      outbox
	got      bool      // datagrams have come since the last answer
	heard    mono.Time // when the last short datagrams came
	taking   bool      // a datagram is being received, and answers leave after it
	refusals map[*session.Peer]refusal
	lost     error
}

var _ core.EndpointDriver = (*rdmEndpoint)(nil)

func (d *domain) openEndpoint(info *core.Info) (endpoint.Base, error) {
	ep := &rdmEndpoint{d: d, prog: d.Progress()}
	if err := ep.InitReliable(&d.Domain, info, ep.ends, endpoint.RxSink{Endpoint: &ep.Endpoint}, ep, ep.CanReceive); err != nil {
		return nil, err
	}
	if ep.Auth() != nil && !d.s.Extensions {
		return nil, ep.Refuse("fi_endpoint", endpoint.NoPeer, core.ErrOpNotSupp, "authorization keys need the extension: set FI_OFI_RXD_EXTENSIONS=1")
	}
	port, err := d.Lower.OpenPort(info.Lower(), ep)
	if err != nil {
		return nil, err
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	ep.become(port)
	ep.timer = ep.prog.Timer(ep.expired)
	ep.Opened(ep)
	return ep, nil
}

// become makes port the endpoint's port, with an engine that has no peers yet. Locked.
func (ep *rdmEndpoint) become(port datagram.Port) {
	info := ep.Info()
	_, opaque := ep.d.Lower.(datagram.Opaque)
	cfg := ep.d.s.engine(info, !opaque)
	cfg.NativeMTU = nativeMax
	if below := info.Below(); below != nil && below.EP != nil && below.EP.MaxMsgSize > 0 {
		cfg.NativeMTU = min(below.EP.MaxMsgSize, nativeMax)
	}
	cfg.RecvWindow = ep.d.s.window(port)
	cfg.Auth = ep.Auth().EngineAuth()
	if cfg.Conn.CMA != nil {
		cfg.Ends = ep.between
	}
	ep.port = port
	ep.eng = session.New(cfg, ep.d.Pool(), ep.Own, ep.Memory(), (*hooks)(ep))
	ep.out.init(port.MaxSegments())
}

// between returns the addresses of the two ends of a stream (engine.Config.Ends).
func (ep *rdmEndpoint) between(peer netip.AddrPort) (e xengine.Ends, ok bool) {
	local := ep.port.Local()
	p, spaced := ep.port.(datagram.Spaced)
	if !spaced || !netx.OneHost(local.Addr().Unmap(), peer.Addr().Unmap()) {
		return e, false
	}
	return xengine.Ends{Space: p.Space(), Local: netx.EndOf(local), Peer: netx.EndOf(peer)}, true
}

// engine returns the configuration of an endpoint's engine.
func (s *settings) engine(info *core.Info, around bool) *session.Config {
	return &session.Config{
		Epoch: random64(), Secret: [2]uint64{random64(), random64()}, Rand: random64,
		Conn:       s.conn(max(info.Tx.Size, 1), info.Tx.InjectSize, around),
		Extensions: s.Extensions, Rendezvous: true,
		MaxUnacked: s.maxUnacked, MaxPeers: s.maxPeers,
		PeerTimeout: int64(s.peer), KeepAlive: int64(s.keepAlive), HandshakeTimeout: int64(s.handshake),
	}
}

// random64 returns an unpredictable number, for connection ids and secrets.
func random64() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}

// ends implements endpoint.Ends.
func (ep *rdmEndpoint) ends(src uint64) (local, peer netip.AddrPort) {
	return ep.port.Local(), ep.SourceAddr(src)
}

// Bind binds an object (fi_ep_bind(3)). The port is informed of the addresses in an address vector
// (datagram.Expecter). With a shared receive context the endpoint receives into buffers posted there.
func (ep *rdmEndpoint) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case *endpoint.AddressVector:
		if err := ep.Endpoint.Bind(x, flags); err != nil {
			return err
		}
		ep.WatchAV(ep.inserted, ep.removed)
		ep.prog.Lock()
		defer ep.prog.Unlock()
		datagram.ExpectAll(ep.port, ep.Known)
		return nil
	case *endpoint.SharedRx:
		if err := ep.ShareRx(x); err != nil {
			return err
		}
		ep.prog.Lock()
		defer ep.prog.Unlock()
		ep.become(ep.port) // there are no peers before Enable
		return nil
	}
	return ep.Endpoint.Bind(obj, flags)
}

// Conns implements endpoint.Whole.
func (ep *rdmEndpoint) Conns(yield func(*xengine.Conn) bool) {
	for p := range ep.eng.Each {
		if !yield(p.Conn()) {
			return
		}
	}
}

// Enable allows data calls (fi_enable(3)).
func (ep *rdmEndpoint) Enable() error {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if err := ep.CheckEnable(endpoint.NeedsAV); err != nil {
		return err
	}
	ep.SetEnabled()
	return nil
}

// Name returns the address that peers insert into their vectors (fi_getname(3)).
func (ep *rdmEndpoint) Name() (core.Addr, error) {
	ep.prog.Lock()
	defer ep.prog.Unlock()
	return core.IPAddr(ep.port.Local()), nil
}

// SetName changes the address, before Enable (fi_setname(3)).
func (ep *rdmEndpoint) SetName(a core.Addr) error {
	return ep.Rename(a, func(info *core.Info) (use, drop func(), err error) {
		port, err := ep.d.Lower.OpenPort(info.Lower(), ep)
		return func() {
			ep.port.Close()
			ep.become(port)
			if ep.datapath != 0 {
				datagram.SetDatapath(port, ep.datapath) // the other interface may refuse AF_XDP; then the port uses sockets
			}
			datagram.ExpectAll(port, ep.Known)
		}, func() { port.Close() }, err
	})
}

// GetOpt is fi_getopt (fi_endpoint(3)).
func (ep *rdmEndpoint) GetOpt(opt core.EPOpt) (int, error) {
	if opt != core.OptDatapath {
		return ep.Reliable.GetOpt(opt)
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.Closed() {
		return 0, core.ErrNoProtoOpt
	}
	return datagram.Datapath(ep.port)
}

// SetOpt is fi_setopt (fi_endpoint(3)).
func (ep *rdmEndpoint) SetOpt(opt core.EPOpt, value int) error {
	if opt != core.OptDatapath {
		return ep.Reliable.SetOpt(opt, value)
	}
	ep.prog.Lock()
	defer ep.prog.Unlock()
	if ep.Closed() {
		return core.ErrNoProtoOpt
	}
	err := datagram.SetDatapath(ep.port, value)
	if err == nil {
		ep.datapath = value
		datagram.ExpectAll(ep.port, ep.Known)
	}
	return err
}

// Close closes the endpoint (fi_close(3)). It transmits posted data until peers have acknowledged it, for as long
// as OptLinger allows.
func (ep *rdmEndpoint) Close() error {
	return ep.CloseWith((*endpointDrain)(ep), func() {
		for p := range ep.eng.Each {
			ep.eng.Remove(p, xengine.ErrClosed)
		}
		ep.transmit(mono.Now())
		ep.batch.Forget(ep.prog.Batch(), (*flusher)(ep))
		ep.timer.Remove()
		ep.port.Close()
		ep.byFI = nil
	})
}

// endpointDrain is the work that a closing endpoint waits for (endpoint.Drainer).
type endpointDrain rdmEndpoint

// BeginDrain implements endpoint.Drainer.
func (d *endpointDrain) BeginDrain() {
	ep, now := (*rdmEndpoint)(d), mono.Now()
	ep.eng.Shutdown(int64(now))
	ep.transmit(now)
}

// Drained implements endpoint.Drainer. It advances the engine's time itself, because the goroutine that calls Close
// may not be the one that serves the timer.
func (d *endpointDrain) Drained(all bool) bool {
	ep, now := (*rdmEndpoint)(d), mono.Now()
	if ep.lost != nil || ep.eng.Flushed(all) {
		return true
	}
	ep.port.Poll()
	ep.eng.Advance(int64(now))
	ep.transmit(now)
	return ep.eng.Flushed(all)
}
