package endpoint

import (
	"net/netip"
	"time"

	"gofabric/core"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

// Endpoint is what all endpoints have in common: state, bindings, default flags, and the reporting of completions. A provider embeds it in its endpoints.
// It implements engine.Sink but for the part about connections.
type Endpoint struct {
	d    *Domain
	prog *progress.Engine
	info *core.Info

	enabled bool // guarded by the lock, as what follows
	closed  bool
	userIDs bool // sources are reported by the identifiers in the address vector (fi_av(3), FI_AV_USER_ID)
	aliases int  // that must close before the endpoint

	txCQ, rxCQ       *CompletionQueue
	txQuiet, rxQuiet bool // selective completion: only on request
	cntr             [6]*Counter
	eq               *EventQueue
	av               *AddressVector
	unwatch          func() // ends WatchAV
	tx               *Transmitter
	spread           Spreader // nil usually
	recv             *Receiver
	scalable         bool // its contexts have the queues
	srx              *SharedRx
	stx              *SharedTx
	txFlags, rxFlags core.OpFlags // default operation flags
	avGeneration     uint32       // counts addresses that left the vector: what a lastRoute knew before counts no more

	auth   *Auth // its authorization key; nil if it has none
	linger time.Duration

	ends Ends
	coll *collectives // nil if collective operations were not asked for

	errEntry core.CQErrEntry

	did      opStats
	id       uint64   // for telemetry
	observed Observed // the whole of it
}

// Ends returns the addresses of both ends of the connection to a peer, engine.AnySource for no peer in particular, for the texts of errors; NoPeer for what
// is not known. It is called locked.
type Ends func(src uint64) (local, peer netip.AddrPort)

// InitEndpoint prepares e, which does not count as opened on d before the provider calls Opened. info is copied.
func (e *Endpoint) InitEndpoint(d *Domain, info *core.Info, ends Ends) {
	e.d, e.prog, e.info, e.ends = d, d.prog, info.Dup(), ends
	if info.Tx != nil {
		e.txFlags = info.Tx.OpFlags
	}
	if info.Rx != nil {
		e.rxFlags = info.Rx.OpFlags
	}
}

// Opened makes e, of which x is the whole, count as opened on its domain, until Unbind, and shows it to telemetry, until BeginClose. If x is a Forgetter, it
// hears of regions that are closed.
func (e *Endpoint) Opened(x Observed) {
	e.d.Ref()
	e.appear(x)
}

// Front is what an endpoint of a provider and its connections' sinks have of this package.
func (e *Endpoint) Front() *Endpoint { return e }

// Info is the endpoint's own copy of what it was opened with. Locked.
func (e *Endpoint) Info() *core.Info { return e.info }

// EQ and AV are what is bound, nil if nothing is. Locked.
func (e *Endpoint) EQ() *EventQueue    { return e.eq }
func (e *Endpoint) AV() *AddressVector { return e.av }

// Known is the addresses of the bound vector with the lowest indices, so many at most. Locked.
func (e *Endpoint) Known(most int) []netip.AddrPort {
	if e.av == nil {
		return nil
	}
	return e.av.First(most)
}

// Enabled says whether data calls are allowed, Closed whether the endpoint is closed or closing. Locked.
func (e *Endpoint) Enabled() bool { return e.enabled }
func (e *Endpoint) Closed() bool  { return e.closed }

// Text is what error texts call the endpoint.
func (e *Endpoint) Text() string { return "endpoint on " + e.d.Name() }

// Refuse makes the error of a control call on the endpoint (Names.Error).
func (e *Endpoint) Refuse(op string, peer netip.AddrPort, err error, hint string) error {
	return e.d.cfg.Names.Error(op, e.Text(), peer, err, hint)
}

// Needs is what an endpoint must have bound to it before it can be enabled, besides completion queues or counters for what it can do.
type Needs uint8

// The things that are needed.
const (
	NeedsEQ Needs = 1 << iota
	NeedsAV
)

// CheckEnable says whether the endpoint can be enabled (fi_enable(3)); SetEnabled follows when the provider is ready, too. Locked.
func (e *Endpoint) CheckEnable(needs Needs) error {
	caps := e.info.Caps
	if e.scalable {
		caps = 0
	}
	if e.srx != nil && e.srx.own != nil {
		caps &^= core.CapRecv // that has a queue
	}
	switch {
	case e.enabled:
		return e.Refuse("fi_enable", NoPeer, core.ErrOpBadState, "the endpoint is enabled already")
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

// CanReceive refuses receives before Enable, and where a shared context takes them. Locked.
func (e *Endpoint) CanReceive() error {
	if !e.enabled {
		return core.ErrOpBadState
	}
	if e.srx != nil {
		return core.ErrOpNotSupp // receives are posted to the shared context (fi_srx_context(3))
	}
	return nil
}

// BeginClose ends the use of the endpoint, if it may end: it fails when the endpoint is closed already or has aliases (fi_close(3)). From then on nothing
// is reported. The provider ends connections, unlocks and calls Unbind. Locked.
func (e *Endpoint) BeginClose() error {
	switch {
	case e.closed:
		return core.ErrBadF
	case e.aliases > 0:
		return e.Refuse("fi_close", NoPeer, core.ErrBusy, "close its aliases first")
	}
	e.disappear()
	e.closed, e.enabled = true, false
	e.d.work.drop(e, nil)
	if e.coll != nil {
		e.coll.end()
	}
	return nil
}

// SourceAddr is the address that the bound vector has for a source; NoPeer if it has none. Locked.
func (e *Endpoint) SourceAddr(src uint64) netip.AddrPort {
	if e.av == nil || src == engine.AnySource {
		return NoPeer
	}
	a, _ := e.av.AddrPort(core.FIAddr(src))
	return a
}

// Rename is fi_setname(3) for an endpoint that has an address from the start. bind makes what is to be at a, not locked; use, locked, puts it in the place of
// the one before, or drop closes it, for the endpoint was enabled or closed meanwhile. info is a copy of the endpoint's, with the address a.
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

// Connectionless is the connection management of endpoints that have none: its calls fail with ErrNoSys (fi_cm(3)).
type Connectionless struct{}

// Peer is fi_getpeer(3).
func (Connectionless) Peer() (core.Addr, error) { return core.Addr{}, core.ErrNoSys }

// Connect is fi_connect(3).
func (Connectionless) Connect(core.Addr, []byte) error { return core.ErrNoSys }

// Accept is fi_accept(3).
func (Connectionless) Accept([]byte) error { return core.ErrNoSys }

// Shutdown is fi_shutdown(3).
func (Connectionless) Shutdown() error { return core.ErrNoSys }
