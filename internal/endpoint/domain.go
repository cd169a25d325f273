package endpoint

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/core"
	"gofabric/core/mr"
	"gofabric/internal/progress"
	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Parent is the fabric of a domain: the provider's type, which embeds this package's Fabric.
type Parent interface {
	core.FabricDriver
	Ref()
	Unref()
}

// DomainConfig is what InitDomain needs from a provider or layer.
type DomainConfig struct {
	Names    *Names
	Fabric   Parent
	Info     *core.Info       // copied
	Progress *progress.Engine // its lock becomes the domain's; a layer passes that of the domain below
	Host     core.Host        // resolves host names that are inserted into address vectors; nil: there is no resolver
	Limits   RxLimits         // of receive contexts
	// Longest time that closing an endpoint waits until peers have all that was sent (OptLinger).
	Linger time.Duration
	// Down closes the progress engine or the domain below, when no object of the domain is open any more. An error
	// keeps the domain open. Down may be nil.
	Down func() error
}

// Domain is the common part of all domains: the lock, the memory map, and the queues, counters, vectors and regions
// opened on it. A provider embeds it and adds OpenEndpoint. Its methods are safe for concurrent use. They are
// called without the lock unless they say otherwise.
type Domain struct {
	cfg  DomainConfig
	info *core.Info
	prog *progress.Engine
	pool engine.Pool
	mem  *mr.Map
	eq   *EventQueue
	refs atomic.Int64

	// Scratch for the call in progress, guarded by the lock. A post therefore allocates nothing.
	send   engine.Send
	atomic engine.Atomic
	ended  engine.Completion

	work  deferrer
	open  openEndpoints
	entry *telemetry.Entry
}

// deferrer holds the operations that wait for counters (fi_trigger(3)).
type deferrer interface {
	// post posts op through p, with OpTrigger removed, when the counter of op.Trigger has reached its threshold. Not
	// locked.
	post(p poster, op core.Op) error
	// cancel cancels one triggered operation of owner that was posted with ctx and has not started. It returns false
	// if there is none. owner is an endpoint or a shared context's engine.RxContext. Locked.
	cancel(owner any, ctx core.OpContext) bool
	// drop ends the waiting operations of owner without completions, and ignores the completions of those in progress
	// (fi_endpoint(3), fi_close). Locked.
	drop(owner any)
}

// poster is the transmit or receive side of an endpoint, with the capabilities that it was opened with.
type poster interface{ caps() core.Caps }

// openEndpoint is an endpoint of the domain.
type openEndpoint interface {
	// forget makes the endpoint drop its references to a closed memory region. Locked.
	forget(key uint64)
}

// openEndpoints are the endpoints of a domain from Opened to Unbind, also those that are closing. Its lock nests
// inside the domain's.
type openEndpoints struct {
	mu   sync.Mutex
	list []openEndpoint
}

func (o *openEndpoints) all() []openEndpoint {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}

func (o *openEndpoints) add(e openEndpoint) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, e)
}

func (o *openEndpoints) remove(e openEndpoint) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.list, e); i >= 0 {
		o.list = slices.Delete(o.list, i, i+1)
	}
}

// init prepares d and takes a reference to its fabric.
func (d *Domain) init(cfg DomainConfig) {
	d.cfg, d.info, d.prog = cfg, cfg.Info.Dup(), cfg.Progress
	d.mem = mr.NewMap(cfg.Info.Domain.MRMode, keys(cfg.Info.Domain.MRKeySize), cfg.Progress)
	cfg.Fabric.Ref()
}

// keys returns a generator of keys of size bytes. A size below 8 imitates a provider with such keys
// (docs/strict.md).
func keys(size int) func() uint64 {
	if size <= 0 || size >= 8 {
		return randomKey
	}
	return func() uint64 { return randomKey() >> (64 - 8*size) }
}

// randomKey returns a key that a peer cannot guess.
func randomKey() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}

// Attr returns a copy of the domain's attributes.
func (d *Domain) Attr() *core.DomainAttr { a := *d.info.Domain; a.Domain = nil; return &a }

// Progress returns the progress engine, whose lock guards the domain.
func (d *Domain) Progress() *progress.Engine { return d.prog }

// Pool returns the buffers that the domain's connections share. Locked.
func (d *Domain) Pool() *engine.Pool { return &d.pool }

// Name returns the domain's name, for messages.
func (d *Domain) Name() string { return d.info.Domain.Name }

// Ref adds, and Unref drops, a reference of an object that was opened on the domain. References keep the domain
// from closing.
func (d *Domain) Ref()   { d.refs.Add(1) }
func (d *Domain) Unref() { d.refs.Add(-1) }

// Close fails with ErrBusy while an object of the domain is open (fi_close(3)).
func (d *Domain) Close() error {
	if d.refs.Load() > 0 {
		return d.cfg.Names.Error("fi_close", "domain "+d.Name(), NoPeer, core.ErrBusy, "close its endpoints, queues, counters, vectors and memory regions first")
	}
	if d.cfg.Down != nil {
		if err := d.cfg.Down(); err != nil {
			return err
		}
	}
	d.entry.Close()
	if d.eq != nil {
		d.eq.DelProgress(d.prog)
		d.eq.Unref()
		d.eq = nil
	}
	d.cfg.Fabric.Unref()
	return nil
}

// BindEQ makes the domain report its events to q (fi_domain_bind(3)).
func (d *Domain) BindEQ(q core.EQDriver, _ core.BindFlags) error {
	eq, err := d.cfg.Names.QueueOf("fi_domain_bind", q)
	if err != nil {
		return err
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	if d.eq != nil {
		return d.cfg.Names.Error("fi_domain_bind", d.Name(), NoPeer, core.ErrInval, "the domain already has an event queue")
	}
	eq.Ref()
	eq.AddProgress(d.prog)
	d.eq = eq
	return nil
}

// Verify implements engine.Memory for connections without an authorization key. Locked.
func (d *Domain) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	return d.verify("", key, addr, length, write)
}

// verify is Verify for connections with an authorization key; auth is the key's text, "" for none.
func (d *Domain) verify(auth string, key, addr, length uint64, write bool) ([]byte, engine.Region, engine.Refusal) {
	access := core.AccessRemoteRead
	if write {
		access = core.AccessRemoteWrite
	}
	mem, r, no := d.mem.Verify(key, addr, length, access)
	if no != 0 {
		return nil, nil, d.refusal(auth, key, access)
	}
	if r.AuthKey() != "" && r.AuthKey() != auth {
		return nil, nil, wire.RefusedKey
	}
	if r.WriteCounter() == nil && r.ReadCounter() == nil && !r.Persistent() {
		return mem, nil, 0
	}
	return mem, (*countedRegion)(r), 0
}

// refusal returns the reason why an access does not fit a region. The checks have the order of ofi_mr_map_verify
// (libfabric, prov/util/src/util_mr_map.c): the key, the rights, the range. A peer with another authorization key
// gets the same answer as for a key that does not exist.
func (d *Domain) refusal(auth string, key uint64, access core.Access) engine.Refusal {
	r := d.mem.Find(key)
	switch {
	case r == nil || r.AuthKey() != "" && r.AuthKey() != auth:
		return wire.RefusedKey
	case access&^r.Access() != 0:
		return wire.RefusedRights
	}
	return wire.RefusedRange
}
