package endpoint

import (
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// Endpoint is the common part of all endpoints: state, bindings, default flags, and the reporting of completions. A
// provider embeds it in its endpoints. It implements engine.Sink except for the methods about connections.
type Endpoint struct {
	d    *Domain
	prog *progress.Engine
	info *core.Info

	enabled bool // guarded by the lock, like all fields below
	closed  bool
	userIDs bool // sources are reported as user identifiers (fi_av(3), FI_AV_USER_ID)
	aliases int  // open aliases; they must close before the endpoint

	txCQ, rxCQ       *CompletionQueue
	txQuiet, rxQuiet bool // selective completion: an entry only on request (FI_SELECTIVE_COMPLETION)
	cntr             [6]*Counter
	eq               *EventQueue
	av               *AddressVector
	unwatch          func() // ends WatchAV
	tx               *Transmitter
	spread           Spreader // nil: all operations use the Router's connection
	recv             *Receiver
	scalable         bool // a scalable endpoint: its contexts have the queues
	srx              *SharedRx
	stx              *SharedTx
	txFlags, rxFlags core.OpFlags // default operation flags
	avGeneration     uint32       // counts removals from the vector; a lastRoute of another generation is stale

	auth   *Auth // its authorization key; nil if it has none
	linger time.Duration

	ends Ends
	coll interface{ end() } // the collective operations; nil if the endpoint was opened without CapCollective

	errEntry core.CQErrEntry

	did      opStats
	id       uint64   // for telemetry
	observed Observed // the provider's endpoint, which embeds this one
}

// Ends returns the two addresses of the connection to a peer, for error texts. src is engine.AnySource for no
// particular peer. An unknown address is NoPeer. It is called locked.
type Ends func(src uint64) (local, peer netip.AddrPort)

// InitEndpoint prepares e. e keeps d open only after the provider has called Opened. info is copied.
func (e *Endpoint) InitEndpoint(d *Domain, info *core.Info, ends Ends) {
	e.d, e.prog, e.info, e.ends = d, d.prog, info.Dup(), ends
	if info.Tx != nil {
		e.txFlags = info.Tx.OpFlags
	}
	if info.Rx != nil {
		e.rxFlags = info.Rx.OpFlags
	}
}

// Common returns the Endpoint that a provider's endpoint or a connection's sink embeds.
func (e *Endpoint) Common() *Endpoint { return e }

// Info returns the endpoint's own copy of the Info that it was opened with. Locked.
func (e *Endpoint) Info() *core.Info { return e.info }

// EQ and AV return the bound event queue and address vector, nil if there is none. Locked.
func (e *Endpoint) EQ() *EventQueue    { return e.eq }
func (e *Endpoint) AV() *AddressVector { return e.av }

// Known returns up to most addresses of the bound vector, those with the lowest indices. Locked.
func (e *Endpoint) Known(most int) []netip.AddrPort {
	if e.av == nil {
		return nil
	}
	return e.av.First(most)
}

// Enabled reports whether data calls are allowed. Closed reports whether the endpoint is closed or closing. Locked.
func (e *Endpoint) Enabled() bool { return e.enabled }
func (e *Endpoint) Closed() bool  { return e.closed }

// Text returns the endpoint's name in error texts.
func (e *Endpoint) Text() string { return "endpoint on " + e.d.Name() }

// Refuse makes the error of a control call on the endpoint (Names.Error).
func (e *Endpoint) Refuse(op string, peer netip.AddrPort, err error, hint string) error {
	return e.d.cfg.Names.Error(op, e.Text(), peer, err, hint)
}

// Needs are the objects that must be bound to an endpoint before Enable, besides completion queues or counters.
type Needs uint8

// The objects that Needs can name.
const (
	NeedsEQ Needs = 1 << iota
	NeedsAV
)

// CheckEnable returns an error if the endpoint cannot be enabled (fi_enable(3)). The provider calls SetEnabled when
// it is ready, too. Locked.
func (e *Endpoint) CheckEnable(needs Needs) error {
	caps := e.info.Caps
	if e.scalable {
		caps = 0
	}
	if e.srx != nil && e.srx.own != nil {
		caps &^= core.CapRecv // the shared receive context has its own queue
	}
	switch {
	case e.enabled:
		return e.Refuse("fi_enable", NoPeer, core.ErrOpBadState, "the endpoint is already enabled")
	case needs&NeedsEQ != 0 && e.eq == nil:
		return e.Refuse("fi_enable", NoPeer, core.ErrNoEQ, "bind an event queue first")
	case needs&NeedsAV != 0 && e.av == nil:
		return e.Refuse("fi_enable", NoPeer, core.ErrNoAV, "bind an address vector first")
	case e.txCQ == nil && e.cntr[cntrTx] == nil && e.cntr[cntrRead] == nil && e.cntr[cntrWrite] == nil && caps&(core.CapSend|core.CapRead|core.CapWrite) != 0:
		return e.Refuse("fi_enable", NoPeer, core.ErrNoCQ, "bind a completion queue with BindTransmit first")
	case e.rxCQ == nil && e.cntr[cntrRx] == nil && caps&core.CapRecv != 0:
		return e.Refuse("fi_enable", NoPeer, core.ErrNoCQ, "bind a completion queue with BindRecv first")
	}
	return e.takeKey()
}

// SetEnabled allows data calls. Locked.
func (e *Endpoint) SetEnabled() {
	e.enabled = true
	e.routeContexts()
}

// CanReceive refuses receives before Enable, and those of an endpoint with a shared receive context. Locked.
func (e *Endpoint) CanReceive() error {
	if !e.enabled {
		return core.ErrOpBadState
	}
	if e.srx != nil {
		return core.ErrOpNotSupp // receives are posted to the shared context (fi_srx_context(3))
	}
	return nil
}

// BeginClose starts the close of the endpoint. It fails when the endpoint is closed already or has aliases
// (fi_close(3)). From then on the endpoint reports no completion. The provider then ends the connections, unlocks
// and calls Unbind. Locked.
func (e *Endpoint) BeginClose() error {
	switch {
	case e.closed:
		return core.ErrBadF
	case e.aliases > 0:
		return e.Refuse("fi_close", NoPeer, core.ErrBusy, "close its aliases first")
	}
	e.leaveTelemetry()
	e.closed, e.enabled = true, false
	e.d.work.drop(e)
	if e.coll != nil {
		e.coll.end()
	}
	return nil
}

// SourceAddr returns the address that the bound vector has for a source, NoPeer if it has none. Locked.
func (e *Endpoint) SourceAddr(src uint64) netip.AddrPort {
	if e.av == nil || src == engine.AnySource {
		return NoPeer
	}
	a, _ := e.av.AddrPort(core.FIAddr(src))
	return a
}

// Rename is fi_setname(3) for an endpoint that has an address from the start. bind opens a socket or listener at a,
// without the lock. use, called locked, replaces the old one by it. drop, called locked, closes it, if the endpoint
// was enabled or closed in the meantime. info is a copy of the endpoint's with the address a.
func (e *Endpoint) Rename(a core.Addr, bind func(info *core.Info) (use, drop func(), err error)) error {
	if !a.IP.IsValid() {
		return e.Refuse("fi_setname", NoPeer, core.ErrInval, "the name must be an IP address")
	}
	late := func() error {
		if e.enabled || e.closed {
			return e.Refuse("fi_setname", NoPeer, core.ErrOpBadState, "set the name before Enable")
		}
		return nil
	}
	e.prog.Lock()
	err, info := late(), e.info.Dup()
	e.prog.Unlock()
	if err != nil {
		return err
	}
	info.SrcAddr = core.IPAddr(a.IP)
	use, drop, err := bind(info)
	if err != nil {
		return err
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if err := late(); err != nil {
		drop()
		return err
	}
	use()
	return nil
}

// Connectionless has the connection management calls of endpoints without connections. They fail with ErrNoSys
// (fi_cm(3)).
type Connectionless struct{}

// Peer is fi_getpeer(3).
func (Connectionless) Peer() (core.Addr, error) { return core.Addr{}, core.ErrNoSys }

// Connect is fi_connect(3).
func (Connectionless) Connect(core.Addr, []byte) error { return core.ErrNoSys }

// Accept is fi_accept(3).
func (Connectionless) Accept([]byte) error { return core.ErrNoSys }

// Shutdown is fi_shutdown(3).
func (Connectionless) Shutdown() error { return core.ErrNoSys }
