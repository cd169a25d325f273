package tcp

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"gofabric/av"
	"gofabric/core"
	"gofabric/core/mr"
	"gofabric/cq"
	"gofabric/internal/progress"
	"gofabric/provider/tcp/engine"
)

// domain is an open domain: the owner of lock, buffers and memory map of its endpoints.
type domain struct {
	f    *fabric
	s    *settings
	info *core.Info
	prog *progress.Engine
	bufs *buffers
	pool engine.Pool
	mem  *mr.Map
	eq   *eventQueue
	refs atomic.Int64

	// Scratch for the call under way, guarded by the lock: what a post asks for and a completion brings need no memory of their own.
	send engine.Send
}

func openDomain(f *fabric, info *core.Info) (*domain, error) {
	if info == nil || info.Domain == nil {
		return nil, opError("fi_domain", "", noPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	auto := info.Domain.DataProgress != core.ProgressManual && !f.p.s.noAutoProgress
	prog, err := progress.New(auto)
	if err != nil {
		return nil, opError("fi_domain", info.Domain.Name, noPeer, err, "descriptors may have run out (ulimit -n)")
	}
	d := &domain{f: f, s: f.p.s, info: info.Dup(), prog: prog, bufs: newBuffers(f.p.s.prefetch)}
	d.mem = mr.NewMap(info.Domain.MRMode, randomKey, prog)
	f.ref()
	return d, nil
}

// randomKey makes keys that a peer cannot guess.
func randomKey() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}

func (d *domain) Attr() *core.DomainAttr { a := *d.info.Domain; a.Domain = nil; return &a }
func (d *domain) Fabric() core.Fabric    { return d.f }

// Close fails with ErrBusy while anything of the domain is open (fi_close(3)).
func (d *domain) Close() error {
	if d.refs.Load() > 0 {
		return opError("fi_close", "domain "+d.info.Domain.Name, noPeer, core.ErrBusy, "close its endpoints, queues, counters, vectors and memory regions first")
	}
	if err := d.prog.Close(); err != nil {
		return err
	}
	if d.eq != nil {
		d.eq.DelProgress(d.prog)
		d.eq.Unref()
		d.eq = nil
	}
	d.f.unref()
	return nil
}

func (d *domain) BindEQ(q core.EventQueue, flags core.Flags) error {
	eq, err := eventQueueOf(q)
	if err != nil {
		return err
	}
	if d.eq != nil {
		return opError("fi_domain_bind", d.info.Domain.Name, noPeer, core.ErrInval, "the domain has an event queue already")
	}
	eq.Ref()
	eq.AddProgress(d.prog)
	d.eq = eq
	return nil
}

func (d *domain) OpenEndpoint(info *core.Info) (core.Endpoint, error) {
	if info == nil || info.EP == nil {
		return nil, opError("fi_endpoint", d.info.Domain.Name, noPeer, core.ErrInval, "pass an Info from GetInfo")
	}
	switch info.EP.Type {
	case core.EPTypeMsg:
		ep, err := openMsg(d, info)
		if err != nil {
			return nil, err // and not a typed nil, which would compare unequal to nil
		}
		return ep, nil
	case core.EPTypeRDM:
		ep, err := openRDM(d, info)
		if err != nil {
			return nil, err
		}
		return ep, nil
	}
	return nil, opError("fi_endpoint", d.info.Domain.Name, noPeer, core.ErrNoSys, "tcp has MSG and RDM endpoints")
}

func (d *domain) OpenSRX(attr *core.RxAttr) (core.SharedRx, error) {
	s, err := openSRX(d, attr)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// completionQueue, counter and addressVector are the shared implementations, known to their domain.
type completionQueue struct {
	*cq.Queue
	d *domain
}

func (q *completionQueue) Close() error { return closeChild(q.d, q.Queue.Close) }

type counter struct {
	*cq.Counter
	d *domain
}

func (c *counter) Close() error { return closeChild(c.d, c.Counter.Close) }

type addressVector struct {
	*av.Table
	d *domain
}

func (v *addressVector) Close() error { return closeChild(v.d, v.Table.Close) }

type pollSet struct {
	core.PollSet
	d *domain
}

func (s *pollSet) Close() error { return closeChild(s.d, s.PollSet.Close) }

type memoryRegion struct {
	*mr.Region
	d *domain
}

// Close ends the registration; on return no peer's operation touches the memory any more.
func (m *memoryRegion) Close() error {
	if err := closeChild(m.d, m.Region.Close); err != nil {
		return err
	}
	m.d.prog.Lock()
	m.d.prog.Each(func(s progress.Source) {
		if st, ok := s.(*stream); ok {
			st.conn.Forget(m.Region.Key())
		}
	})
	m.d.prog.Unlock()
	return nil
}

// closeChild closes an object of d and forgets it.
func closeChild(d *domain, close func() error) error {
	if err := close(); err != nil {
		return err
	}
	d.refs.Add(-1)
	return nil
}

func (d *domain) OpenCQ(attr core.CQAttr) (core.CompletionQueue, error) {
	q, err := cq.New(attr, d.prog)
	if err != nil {
		return nil, err
	}
	d.refs.Add(1)
	return &completionQueue{q, d}, nil
}

func (d *domain) OpenCounter(attr core.CntrAttr) (core.Counter, error) {
	c, err := cq.NewCounter(attr, d.prog)
	if err != nil {
		return nil, err
	}
	d.refs.Add(1)
	return &counter{c, d}, nil
}

func (d *domain) OpenAV(attr core.AVAttr) (core.AddressVector, error) {
	t, err := av.New(attr, addrFormat(d.info.AddrFormat), d.f.p.resolve)
	if err != nil {
		return nil, err
	}
	d.refs.Add(1)
	return &addressVector{t, d}, nil
}

func (d *domain) OpenPoll(attr core.PollAttr) (core.PollSet, error) {
	s, err := cq.NewPollSet(attr)
	if err != nil {
		return nil, err
	}
	d.refs.Add(1)
	return &pollSet{s, d}, nil
}

// RegMR registers memory (fi_mr_regattr(3)).
func (d *domain) RegMR(attr *core.MRAttr) (core.MemoryRegion, error) {
	r, err := d.mem.Reg(attr)
	if err != nil {
		return nil, err
	}
	d.refs.Add(1)
	return &memoryRegion{r, d}, nil
}

// QueryAtomic says that tcp has no atomics, as natively.
func (d *domain) QueryAtomic(core.Datatype, core.AtomicOp, core.Flags) (core.AtomicAttr, error) {
	return core.AtomicAttr{}, core.ErrOpNotSupp
}

// Verify implements engine.Memory.
func (d *domain) Verify(key, addr, length uint64, write bool) ([]byte, engine.Region, bool) {
	access := core.RemoteRead
	if write {
		access = core.RemoteWrite
	}
	mem, r, no := d.mem.Verify(key, addr, length, access)
	if no != 0 {
		return nil, nil, false
	}
	if r.WriteCounter() == nil && r.ReadCounter() == nil {
		return mem, nil, true
	}
	return mem, (*countedRegion)(r), true
}

// countedRegion is a region with counters of remote accesses bound to it; it implements engine.Region.
type countedRegion mr.Region

func (r *countedRegion) RemoteAccess(write bool, n uint64) {
	c := (*mr.Region)(r).ReadCounter()
	if write {
		c = (*mr.Region)(r).WriteCounter()
	}
	if cn, ok := c.(*counter); ok {
		cn.Complete(int(n))
	}
}

// addrFormat is the format of a vector's addresses; the generic names leave it to each address.
func addrFormat(f core.AddrFormat) core.AddrFormat {
	if f == core.FormatSockaddr || f == core.FormatUnspec {
		return core.FormatSockaddrIP
	}
	return f
}
