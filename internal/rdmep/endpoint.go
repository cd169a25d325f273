package rdmep

import (
	"math/rand/v2"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
	"gofabric/internal/transport/stream"
)

// Endpoint is a reliable-datagram endpoint. Everything in it is guarded by the domain's lock; its methods are core.EndpointDriver's, safe for concurrent use and
// not called locked, if they do not say otherwise.
type Endpoint struct {
	endpoint.Reliable
	endpoint.Connectionless
	peers.Set
	d     *endpoint.Domain
	below stream.Domain
	lower *core.Info
	id    uint32
}

// Config says what an endpoint stands on.
type Config struct {
	// Protocol is what the provider does its own way. Its Below makes listeners, too; Init gives its Conn the authorization key.
	peers.Protocol
	Domain *endpoint.Domain
	Info   *core.Info // what the endpoint is opened with; copied
	Lower  *core.Info // what listeners are opened with, but for their address; kept
	// Hint is what else to look at if there is no listener at the address wanted: a clause without punctuation, or "".
	Hint string
}

// Init prepares ep and binds its listener, at Info.SrcAddr. The provider calls Opened with the whole when it has done the rest.
func (ep *Endpoint) Init(cfg Config) error {
	ep.d, ep.below, ep.lower = cfg.Domain, cfg.Below, cfg.Lower
	if err := ep.InitReliable(ep.d, cfg.Info, ep.Ends, endpoint.RxSink{Endpoint: &ep.Endpoint}, &ep.Set, ep.CanReceive); err != nil {
		return err
	}
	// Peers tell a restarted endpoint from the one before by this number. Native uses the process id, which is 1 in every container.
	ep.id = rand.Uint32() | 1
	cfg.Conn.Auth = ep.Auth().EngineAuth()
	ep.InitSet(&ep.Reliable, cfg.Protocol)
	if cfg.Aux > 0 {
		ep.SpreadRMA(&ep.Set)
	}
	l, err := ep.listen("fi_endpoint", cfg.Info.SrcAddr, cfg.Hint)
	if err != nil {
		return err
	}
	ep.d.Progress().Lock()
	defer ep.d.Progress().Unlock()
	ep.SetListener(l)
	return nil
}

// ID names the endpoint's incarnation to peers, in the place of native's process id. It is never 0.
func (ep *Endpoint) ID() uint32 { return ep.id }

// listen binds a listener to a, for the call op.
func (ep *Endpoint) listen(op string, a core.Addr, hint string) (stream.Listener, error) {
	info := *ep.lower
	info.SrcAddr = a
	l, err := ep.below.OpenListener(&info, ep.Acceptor())
	if err == nil {
		return l, nil
	}
	what := "the address"
	if !a.IsZero() {
		what += " " + a.String()
	}
	if hint != "" {
		hint = "; " + hint
	}
	return nil, ep.Refuse(op, endpoint.NoPeer, err, what+" must be one of this host and the port free"+hint)
}

// Bind binds an object (fi_ep_bind(3)): with a shared receive context the endpoint receives into buffers posted there.
func (ep *Endpoint) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case *endpoint.AddressVector:
		if err := ep.Endpoint.Bind(x, flags); err != nil {
			return err
		}
		ep.Watch()
		return nil
	case *endpoint.SharedRx:
		return ep.ShareRx(x)
	}
	return ep.Endpoint.Bind(obj, flags)
}

// Enable starts listening (fi_enable(3)).
func (ep *Endpoint) Enable() error {
	ep.d.Progress().Lock()
	defer ep.d.Progress().Unlock()
	if err := ep.CheckEnable(endpoint.NeedsAV); err != nil {
		return err
	}
	if err := ep.Listen(); err != nil {
		return ep.Refuse("fi_enable", endpoint.NoPeer, err, "another listener may hold the port "+ep.Local().String())
	}
	ep.SetEnabled()
	return nil
}

// Disconnect breaks off what is under way with a peer: it fails with ErrCanceled, and the next operation connects anew. libfabric has no such call; a
// caller that must take its buffers back at once finds it by a type assertion.
func (ep *Endpoint) Disconnect(fi core.FIAddr) error {
	ep.d.Progress().Lock()
	defer ep.d.Progress().Unlock()
	return ep.Set.Disconnect(fi)
}

// Connections counts the connections that are up or on their way, those included that are being closed. libfabric has no such call.
func (ep *Endpoint) Connections() int {
	ep.d.Progress().Lock()
	defer ep.d.Progress().Unlock()
	n := 0
	for range ep.Conns {
		n++
	}
	return n
}

// Forget implements endpoint.Forgetter. Locked.
func (ep *Endpoint) Forget(key uint64) { ep.Set.Forget(key) }

// Name is the address that peers insert into their vectors (fi_getname(3)).
func (ep *Endpoint) Name() (core.Addr, error) {
	ep.d.Progress().Lock()
	defer ep.d.Progress().Unlock()
	return core.IPAddr(ep.Local()), nil
}

// SetName changes the address, before Enable (fi_setname(3)).
func (ep *Endpoint) SetName(a core.Addr) error {
	return ep.Rename(a, func(info *core.Info) (use, drop func(), err error) {
		l, err := ep.listen("fi_setname", info.SrcAddr, "")
		return func() { ep.SetListener(l) }, func() { l.Close() }, err
	})
}

// Close closes the endpoint and its connections (fi_close(3)). What was sent is delivered first, for as long as OptLinger allows.
func (ep *Endpoint) Close() error { return ep.CloseWith(&ep.Set, ep.Set.Close) }
