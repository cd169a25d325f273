package rdmep

import (
	"math/rand/v2"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
	"gofabric/internal/transport/stream"
)

// Endpoint is an RDM endpoint. The domain's lock guards all of it. Its methods are those of core.EndpointDriver.
// They are safe for concurrent use, and called without the lock unless they say otherwise.
type Endpoint struct {
	endpoint.Reliable
	endpoint.Connectionless
	peers.Set
	d     *endpoint.Domain
	below stream.Domain
	lower *core.Info
	id    uint32
}

// Config is what Init needs from a provider.
type Config struct {
	// Protocol is the part that differs by provider. Its Below also makes the listener. Init sets the authorization
	// key of its Conn.
	peers.Protocol
	Domain *endpoint.Domain
	Info   *core.Info // of the endpoint; copied
	Lower  *core.Info // of the listener, except for the address; kept
	// Hint is further advice for the error that no listener could be bound: a clause without punctuation, or "".
	Hint string
}

// Init prepares ep and binds its listener to Info.SrcAddr. The provider then completes its own endpoint and calls
// Opened.
func (ep *Endpoint) Init(cfg Config) error {
	ep.d, ep.below, ep.lower = cfg.Domain, cfg.Below, cfg.Lower
	if err := ep.InitReliable(ep.d, cfg.Info, ep.Ends, endpoint.RxSink{Endpoint: &ep.Endpoint}, &ep.Set, ep.CanReceive); err != nil {
		return err
	}
	// Peers recognize a restarted endpoint by a change of this number. libfabric uses the process id, which is 1 in
	// every container.
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

// ID is the number of this incarnation of the endpoint. It takes the place of the process id in libfabric's private
// data. It is never 0.
func (ep *Endpoint) ID() uint32 { return ep.id }

// listen binds a listener to a. op is the C name of the call, for the error.
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

// Bind binds an object (fi_ep_bind(3)). With a shared receive context, the endpoint receives into the buffers
// posted there.
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

// Disconnect aborts the connection to a peer. Its operations in progress fail with ErrCanceled, and the next
// operation connects again. libfabric has no such call. An application that must have its buffers back at once
// finds it by a type assertion.
func (ep *Endpoint) Disconnect(fi core.FIAddr) error {
	ep.d.Progress().Lock()
	defer ep.d.Progress().Unlock()
	return ep.Set.Disconnect(fi)
}

// Connections counts the connections, including those that are opening or closing. libfabric has no such call.
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

// Name returns the address that peers insert into their address vectors (fi_getname(3)).
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

// Close closes the endpoint and its connections (fi_close(3)). It waits for delivery of sent data for as long as
// OptLinger allows.
func (ep *Endpoint) Close() error { return ep.CloseWith(&ep.Set, ep.Set.Close) }
