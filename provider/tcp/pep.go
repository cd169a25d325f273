package tcp

import (
	"net/netip"

	"gofabric/core"
	"gofabric/internal/authkey"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// requestsMax is the largest number of connection requests that wait for the application. Beyond it, connections
// stay in the listen queue. Connections that were accepted before may still send requests.
const requestsMax = 1024

// passive is a passive endpoint: a listener that reports connection requests of peers.
type passive struct {
	f    *fabric
	info *core.Info
	prog *progress.Engine
	eq   *endpoint.EventQueue
	cfg  *engine.Config
	auth *authkey.Key // nil: none
	l    *listener
	on   bool
	dead bool
	self *core.PassiveEndpoint // the application's handle
	reqs map[*connRequest]struct{}
	told int // number of reqs that were reported to the application
}

// connRequest is a peer's connection. It is the handle in an EventConnReq's Info. The lock of the fabric's engine
// guards it.
type connRequest struct {
	pep  *passive
	st   *tcpStream
	peer netip.AddrPort
	told bool // it was reported to the application
	used bool // an endpoint was opened for it, or it was rejected
}

func openPassive(f *fabric, info *core.Info, self *core.PassiveEndpoint) (*passive, error) {
	if info == nil || info.EP == nil || info.EP.Type != core.EPTypeMsg {
		return nil, opError("fi_passive_ep", "", noPeer, core.ErrInval, "pass an Info of a MSG endpoint from GetInfo")
	}
	prog, err := f.progress()
	if err != nil {
		return nil, opError("fi_passive_ep", "", noPeer, err, "descriptors may have run out (ulimit -n)")
	}
	p := &passive{f: f, self: self, info: info.Dup(), prog: prog, cfg: f.cfg, reqs: map[*connRequest]struct{}{}}
	if err := p.useKey(); err != nil {
		return nil, err
	}
	p.info.DestAddr = core.Addr{}
	if !info.SrcAddr.IsZero() {
		if err := p.bind(info.SrcAddr); err != nil {
			return nil, err
		}
	}
	f.Ref()
	return p, nil
}

// useKey sets the authorization key that peers must have. It is that of the endpoints that will accept them, which
// are opened with the same Info.
func (p *passive) useKey() error {
	raw := p.info.EP.AuthKey
	if d := p.info.Domain; d != nil && len(raw) == 0 {
		raw = d.AuthKey
	}
	if len(raw) > core.MaxAuthKey {
		return opError("fi_passive_ep", "", noPeer, core.ErrInval, "an authorization key has at most 64 bytes")
	}
	if p.auth = authkey.New(raw); p.auth != nil {
		cfg := *p.f.cfg
		cfg.Auth = endpoint.NewAuth(p.auth)
		p.cfg = &cfg
	}
	return nil
}

// bind opens a listener at a, which replaces the previous one. Locked, or before the endpoint is in use.
func (p *passive) bind(a core.Addr) error {
	l := &listener{}
	if err := l.open(p.f.p.s, a.IP, classOf(p.info)); err != nil {
		return opError("fi_passive_ep", a.IP.String(), noPeer, err, "the address must be one of this host and the port free")
	}
	if p.l != nil {
		p.l.close()
	}
	p.l = l
	l.accepted = p.accepted
	l.full = func() bool { return p.told >= requestsMax }
	return nil
}

// BindEQ binds the event queue for connection requests (fi_pep_bind(3)).
func (p *passive) BindEQ(q core.EQDriver, flags core.BindFlags) error {
	if flags != 0 {
		return opError("fi_pep_bind", "passive endpoint", noPeer, core.ErrInval, "the flags must be 0")
	}
	eq, err := names.QueueOf("fi_pep_bind", q)
	if err != nil {
		return err
	}
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.eq != nil {
		return opError("fi_pep_bind", "passive endpoint", noPeer, core.ErrInval, "an event queue is already bound")
	}
	eq.Ref()
	eq.AddProgress(p.prog)
	p.eq = eq
	return nil
}

// Listen starts to accept connection requests (fi_listen(3)).
func (p *passive) Listen() error {
	p.prog.Lock()
	defer p.prog.Unlock()
	switch {
	case p.dead:
		return core.ErrBadF
	case p.eq == nil:
		return opError("fi_listen", "passive endpoint", noPeer, core.ErrNoEQ, "bind an event queue first")
	case p.on:
		return opError("fi_listen", "passive endpoint", noPeer, core.ErrInval, "the endpoint already listens")
	}
	if p.l == nil {
		if err := p.bind(core.IPAddr(netip.AddrPortFrom(netip.IPv4Unspecified(), 0))); err != nil {
			return err
		}
	}
	if err := p.l.listen(p.prog); err != nil {
		return opError("fi_listen", p.l.local.String(), noPeer, err, "another listener may hold the port")
	}
	p.on = true
	return nil
}

// accepted makes a connRequest of an accepted socket.
func (p *passive) accepted(fd netx.FD, peer netip.AddrPort) {
	r := &connRequest{pep: p, peer: peer}
	r.st = acceptStream(p.f.bufs, fd, peer)
	r.st.conn = engine.NewPassive(&p.f.pool, p.cfg, r, int64(mono.Now()))
	if err := r.st.attach(p.prog, p.f.bufs); err != nil {
		p.l.refused++
		r.st.close()
		return
	}
	p.reqs[r] = struct{}{}
	p.l.admit(r.st)
}

// forget removes a request.
func (p *passive) forget(r *connRequest) {
	if _, ok := p.reqs[r]; ok && r.told {
		p.told--
	}
	delete(p.reqs, r)
}

// Requested implements engine.Sink. The request is complete.
func (r *connRequest) Requested(c *engine.Conn, data []byte) {
	p := r.pep
	if c.Denied() {
		p.l.refused++
		p.forget(r)
		r.end(nil)
		return
	}
	r.told = true
	p.told++
	info := p.info.Dup()
	info.SrcAddr, info.DestAddr, info.Handle = core.IPAddr(r.st.local), core.IPAddr(r.peer), r
	p.eq.Push(core.EQEvent{Type: core.EventConnReq, Object: p.self, Info: info, CMData: append([]byte(nil), data...)})
}

// Failed implements engine.Sink. The peer has closed the connection or sent an invalid request.
func (r *connRequest) Failed(*engine.Conn, error, []byte) {
	p := r.pep
	p.forget(r)
	r.st.close()
}

// The other methods of engine.Sink are called only after the connection has moved to its endpoint.
func (r *connRequest) Completed(*engine.Completion)   {}
func (r *connRequest) Sent(*engine.Send)              {}
func (r *connRequest) Received(*engine.RxOp)          {}
func (r *connRequest) Connected(*engine.Conn, []byte) {}
func (r *connRequest) Resumed(*engine.Conn)           {}
func (r *connRequest) Replied(*engine.Conn)           {}

// take reserves the request for an endpoint.
func (r *connRequest) take() bool {
	r.pep.prog.Lock()
	defer r.pep.prog.Unlock()
	if r.used || r.pep.dead {
		return false
	}
	r.used = true
	return true
}

// release gives the connection to its endpoint. It returns nil if the peer has closed it.
func (r *connRequest) release() *tcpStream {
	p := r.pep
	p.prog.Lock()
	defer p.prog.Unlock()
	if _, ok := p.reqs[r]; !ok || r.st.conn.State() != engine.Deciding {
		return nil
	}
	p.forget(r)
	r.st.detach()
	return r.st
}

// abandon closes the connection if it was not released.
func (r *connRequest) abandon() {
	p := r.pep
	p.prog.Lock()
	defer p.prog.Unlock()
	if _, ok := p.reqs[r]; ok {
		p.forget(r)
		r.st.conn.Drop(engine.ErrClosed)
		r.st.close()
	}
}

// Reject refuses a connection request (fi_reject(3)).
func (p *passive) Reject(handle core.Handle, param []byte) error {
	r, ok := handle.(*connRequest)
	if !ok || r.pep != p {
		return opError("fi_reject", "passive endpoint", noPeer, core.ErrInval, "the handle is not a connection request of this endpoint")
	}
	if len(param) > cmDataMax {
		return opError("fi_reject", "passive endpoint", r.peer, core.ErrInval, "private data is at most 256 bytes")
	}
	p.prog.Lock()
	defer p.prog.Unlock()
	if _, live := p.reqs[r]; !live || r.used {
		if r.used && !live {
			return opError("fi_reject", "passive endpoint", r.peer, core.ErrInval, "the connection request has already been answered")
		}
		if r.used {
			return opError("fi_reject", "passive endpoint", r.peer, core.ErrInval, "an endpoint has been opened for the connection request")
		}
		return nil // the peer has closed the connection, so no rejection can be sent
	}
	r.used = true
	p.forget(r)
	r.end(param)
	return nil
}

// end rejects the request.
func (r *connRequest) end(param []byte) {
	r.st.conn.Reject(param)
	r.st.flushRejection()
	r.st.close()
}

// flushRejection transmits the rejection that a closed connection has queued, as far as the socket has room. Only a
// TCP connection can have one. Simulated faults do not delay it, because no later pass would send the rest.
func (s *tcpStream) flushRejection() {
	for s.isOpen() {
		first, list := s.conn.Pending(s.bufs.gather, gatherBytes)
		if first == nil && len(list) > 0 {
			first = list[0]
		}
		if first == nil {
			return
		}
		n, errno := netx.Send(s.carrier.socket(), first, false)
		if errno != 0 {
			return
		}
		s.conn.Transmitted(n)
	}
}

// Name returns the listening address (fi_getname(3)).
func (p *passive) Name() (core.Addr, error) {
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.l == nil {
		return core.Addr{}, opError("fi_getname", "passive endpoint", noPeer, core.ErrAddrNotAvail, "the endpoint has no address before SetName or Listen")
	}
	return core.IPAddr(p.l.local), nil
}

// SetName changes the address, before Listen (fi_setname(3)).
func (p *passive) SetName(a core.Addr) error {
	if !a.IP.IsValid() {
		return opError("fi_setname", "passive endpoint", noPeer, core.ErrInval, "the name must be an IP address")
	}
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.on {
		return opError("fi_setname", "passive endpoint", noPeer, core.ErrOpBadState, "set the name before Listen")
	}
	return p.bind(a)
}

// giveSocket returns the bound socket of an endpoint that does not listen. The endpoint has no address afterwards.
func (p *passive) giveSocket() (boundSocket, bool) {
	p.prog.Lock()
	defer p.prog.Unlock()
	if p.dead || p.on || p.l == nil || p.l.fd == netx.NoFD {
		return boundSocket{}, false
	}
	b := boundSocket{fd: p.l.fd, local: p.l.local}
	p.l = nil
	return b, true
}

func (p *passive) GetOpt(opt core.EPOpt) (int, error) {
	if opt == core.OptCMDataSize {
		return cmDataMax, nil
	}
	return 0, core.ErrNoProtoOpt
}

func (p *passive) SetOpt(core.EPOpt, int) error { return core.ErrNoProtoOpt }

// Close stops listening and drops the requests for which no endpoint was opened.
func (p *passive) Close() error {
	p.prog.Lock()
	if p.dead {
		p.prog.Unlock()
		return core.ErrBadF
	}
	p.dead, p.on = true, false
	if p.l != nil {
		p.l.close()
	}
	for r := range p.reqs {
		if !r.used {
			p.forget(r)
			r.st.conn.Drop(engine.ErrClosed)
			r.st.close()
		}
	}
	if p.eq != nil {
		p.eq.PurgeObject(p.self)
		p.eq.DelProgress(p.prog)
		p.eq.Unref()
	}
	p.prog.Unlock()
	p.f.Unref()
	return nil
}
