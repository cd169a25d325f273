package endpoint

import (
	"net/netip"
	"slices"
	"strconv"

	"gofabric/internal/netx"
	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
)

// Telemetry of a domain visits one endpoint after the other, each under the lock, so that no caller waits long for
// the lock.

// Title implements telemetry.Source.
func (d *Domain) Title() (provider, name string) { return d.cfg.Names.Provider, d.Name() }

// Observe implements telemetry.Source.
func (d *Domain) Observe(o *telemetry.Observation) {
	list := d.open.all()
	for _, x := range list {
		e := x.(*Endpoint)
		if a, ok := e.observed.(SystemQuerier); ok {
			a.QuerySystem(o.Asks(len(list)))
		}
		d.prog.Inspect(func() {
			if !e.closed {
				e.observe(o)
			}
		})
	}
}

// observe describes the endpoint. Locked.
func (e *Endpoint) observe(o *telemetry.Observation) {
	local, _ := e.ends(engine.AnySource)
	r := telemetry.Endpoint{
		ID: strconv.FormatUint(e.id, 10), Provider: e.provider(), Address: telemetry.Text(local), Type: e.info.EP.Type.String(),
		Counters: telemetry.Counts{}, Peers: []telemetry.Peer{}, Histograms: e.did.latencies(),
	}
	if r.Histograms == nil {
		r.Histograms = map[string]telemetry.Histogram{}
	}
	c := r.Counters
	e.did.add(c)
	e.observed.ObserveCounts(c)
	e.observeQueues(o, c, local)
	w := peerWatch{e: e, o: o, local: local, top: make([]busyPeer, 0, o.Room())}
	for v := range e.observed.ObservePeers {
		w.see(v, c)
	}
	r.Peers = w.report()
	o.Add(r)
}

// ObserveMeter adds the sums of a meter.
func ObserveMeter(m *netx.Meter, c telemetry.Counts) {
	s := m.Sum()
	ObservePath(&s, c)
	for name, n := range map[string]uint64{"segments.sent": s.Sent, "segments.received": s.Received} {
		if n > 0 {
			c[name] += n
		}
	}
}

// ObservePath adds the statistics of a TCP connection (TCP_INFO, tcp(7)).
func ObservePath(p *netx.TCPPath, c telemetry.Counts) {
	for name, n := range map[string]uint64{
		"rtt": uint64(p.RTT), "min_rtt": uint64(p.MinRTT), "window": uint64(p.Window), "in_flight": uint64(p.InFlight),
		"retransmitted": p.Retransmitted, "spurious": p.Spurious,
	} {
		if n > 0 {
			c[name] += n
		}
	}
}

// observeQueues adds the depths of queues. It counts a shared context or a domain once for all its endpoints.
func (e *Endpoint) observeQueues(o *telemetry.Observation, c telemetry.Counts, local netip.AddrPort) {
	if e.recv != nil && e.recv.rx != nil && o.First(e.recv.rx) {
		c["posted_receives"] += uint64(e.recv.rx.Posted())
		c["unexpected_messages"] += uint64(e.recv.rx.Unexpected())
		c["unexpected_bytes"] += e.recv.rx.UnexpectedBytes()
	}
	if o.First(e.d) {
		n, bytes := e.d.mem.Registered()
		c["registered_regions"], c["registered_bytes"] = uint64(n), bytes
	}
	for i, q := range [...]*CompletionQueue{e.txCQ, e.rxCQ} {
		if q == nil || !o.First(q) {
			continue
		}
		n, reads := q.Depth()
		c["completions"] += uint64(n)
		if n > 0 {
			o.Watch(telemetry.Key{Owner: e.id, Index: i, What: "queue"}, reads, func() telemetry.Stall {
				return e.stall("queue", local, NoPeer, strconv.Itoa(n)+" completions that the application has not read", 0)
			})
		}
	}
}

func (e *Endpoint) stall(what string, local, peer netip.AddrPort, state string, bytes uint64) telemetry.Stall {
	return telemetry.Stall{What: what, Provider: e.provider(), Local: telemetry.Text(local), Peer: telemetry.Text(peer), State: state, Bytes: bytes}
}

// peerWatch visits an endpoint's connections. It sums them up, keeps those with the most traffic, and checks which
// make no progress.
type peerWatch struct {
	e     *Endpoint
	o     *telemetry.Observation
	local netip.AddrPort
	n     int
	sum   telemetry.Counts // of the connections that are not in top; nil while all are in top
	top   []busyPeer
}

type busyPeer struct {
	v       PeerView
	traffic uint64
}

// see adds one connection. top is ordered by traffic, so the connection with the least is at its end.
func (w *peerWatch) see(v PeerView, c telemetry.Counts) {
	w.n++
	cn := v.Conn
	c["connections."+cn.State().String()]++
	c["pending_operations"] += uint64(cn.InFlight())
	c["queued_bytes"] += uint64(cn.Queued())
	w.watch(v)
	p := busyPeer{v, cn.BytesIn + cn.BytesOut}
	at, _ := slices.BinarySearchFunc(w.top, p, func(a, b busyPeer) int {
		if a.traffic >= b.traffic {
			return -1
		}
		return 1
	})
	switch {
	case len(w.top) < cap(w.top):
	case len(w.top) > 0 && at < len(w.top):
		w.rest(w.top[len(w.top)-1].v.Conn)
		w.top = w.top[:len(w.top)-1]
	default:
		w.rest(cn)
		return
	}
	w.top = slices.Insert(w.top, at, p)
}

// rest adds a connection to the sum of the others.
func (w *peerWatch) rest(cn *engine.Conn) {
	if w.sum == nil {
		w.sum = telemetry.Counts{}
	}
	addConn(cn, w.sum)
}

func addConn(cn *engine.Conn, c telemetry.Counts) {
	c["messages.in"] += cn.MsgsIn
	c["messages.out"] += cn.MsgsOut
	c["stream_bytes.in"] += cn.BytesIn
	c["stream_bytes.out"] += cn.BytesOut
	c["pending_operations"] += uint64(cn.InFlight())
	c["queued_bytes"] += uint64(cn.Queued())
	c["unexpected_bytes"] += cn.UnexpectedBytes()
}

// report describes the connections in top, and the sum of the others.
func (w *peerWatch) report() []telemetry.Peer {
	list := make([]telemetry.Peer, 0, len(w.top)+1)
	for _, b := range w.top {
		v := b.v
		state := v.Conn.State().String()
		if v.Conn.OverBudget() {
			state += ", not read because unexpected messages fill their budget"
		}
		p := telemetry.Peer{Address: telemetry.Text(v.Addr), State: state, Counters: telemetry.Counts{}}
		p.Since = w.o.Since(w.key(v, "state"), uint64(v.Conn.State())|1<<32)
		addConn(v.Conn, p.Counters)
		if v.Path != nil {
			v.Path.ObservePath(p.Counters)
		}
		list = append(list, p)
	}
	if n := w.n - len(w.top); n > 0 && w.sum != nil {
		list = append(list, telemetry.Peer{Address: telemetry.Others, State: strconv.Itoa(n) + " connections", Counters: w.sum})
	}
	return list
}

func (w *peerWatch) key(v PeerView, what string) telemetry.Key {
	return telemetry.Key{Owner: w.e.id, Peer: v.Addr, Index: v.Index, What: what}
}

// watch checks whether the connection makes progress. A token that stays the same means a stall.
func (w *peerWatch) watch(v PeerView) {
	cn := v.Conn
	tell := func(what, state string, bytes uint64) func() telemetry.Stall {
		return func() telemetry.Stall { return w.e.stall(what, w.local, v.Addr, state, bytes) }
	}
	if s := cn.State(); s == engine.Opening || s == engine.Requesting {
		waiting := ""
		if cn.Waiting() {
			waiting = ", and operations wait for it"
		}
		why := ": nothing answers at the address"
		if s == engine.Requesting {
			why = ": the peer has not answered the request"
		}
		// A repeated attempt to connect counts as the same.
		w.o.Watch(w.key(v, "connect"), 0, tell("connect", "the connection is "+s.String()+why+waiting, 0))
		return
	}
	if old, ok := cn.Oldest(); ok {
		token := uint64(old.Seq) << 32
		if old.Why == engine.WhyTransport || old.Why == engine.WhyAnswer {
			token |= uint64(uint32(cn.BytesIn + cn.BytesOut)) // a long transfer makes progress while bytes move
		}
		w.o.Watch(w.key(v, "operation"), token, tell(stallWord(old.Kind), old.Why.String(), old.Bytes))
	} else if cn.Queued() > 0 {
		w.o.Watch(w.key(v, "transmission"), cn.BytesOut, tell("send", "the peer accepts no data: bytes wait for transmission or acknowledgement", uint64(cn.Queued())))
	} else if h, ok := v.Path.(StuckDetector); ok {
		if why, bytes, token, yes := h.Stuck(); yes {
			w.o.Watch(w.key(v, "system"), token, tell("send", why, bytes))
		}
	}
	if cn.OverBudget() {
		w.o.Watch(w.key(v, "receive"), cn.BytesIn, tell("receive", "messages of the peer wait, because the application has posted no matching receives", cn.UnexpectedBytes()))
	}
}

// stallWord returns the name of a stalled operation.
func stallWord(k engine.Kind) string {
	switch k {
	case engine.KindFetch, engine.KindCompare:
		return "atomic"
	}
	return kindWord[k]
}

var _ telemetry.Source = (*Domain)(nil)
