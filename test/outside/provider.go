package loop

import (
	"net/netip"
	"sync"

	"gofabric/av"
	"gofabric/core"
	"gofabric/cq"
)

// Provider offers reliable datagrams to endpoints of the same process.
type Provider struct{}

// Programs that import this package have the provider, as with drivers of database/sql.
func init() {
	core.Register(core.Registration{Name: "loop",
		New: func(*core.Params, core.Host) (core.Provider, error) { return Provider{}, nil }})
}

// Name is the provider's name.
func (Provider) Name() string { return "loop" }

// Version is the provider's version.
func (Provider) Version() core.Version { return core.V(1, 0) }

// Infos returns what endpoints support.
func (Provider) Infos(*core.Info) []*core.Info {
	const caps = core.CapMsg | core.CapTagged | core.CapSend | core.CapRecv | core.CapLocalComm
	return []*core.Info{{
		Caps: caps, AddrFormat: core.FormatSockaddrIP,
		Tx: &core.TxAttr{Caps: core.CapMsg | core.CapTagged | core.CapSend, Size: 64, IOVLimit: 4, InjectSize: 4096},
		Rx: &core.RxAttr{Caps: core.CapMsg | core.CapTagged | core.CapRecv, Size: 64, IOVLimit: 4},
		EP: &core.EPAttr{Type: core.EPTypeRDM, MaxMsgSize: 1 << 20, TxCtxCnt: 1, RxCtxCnt: 1},
		Domain: &core.DomainAttr{Name: "loop", Threading: core.ThreadSafe,
			ControlProgress: core.ProgressAuto, DataProgress: core.ProgressAuto,
			ResourceMgmt: core.RMEnabled, CQCnt: 64, EPCnt: 64, Caps: core.CapLocalComm},
		Fabric: &core.FabricAttr{Name: "loop", ProvName: "loop"},
	}}
}

// OpenFabric opens a new network.
func (Provider) OpenFabric(info *core.Info) (core.FabricDriver, error) {
	return &fabric{attr: *info.Fabric, eps: map[netip.AddrPort]*endpoint{}}, nil
}

// fabric is one network. Its lock guards all objects that are opened on it.
type fabric struct {
	attr core.FabricAttr
	lock
	eps  map[netip.AddrPort]*endpoint
	port uint16
}

// lock is a fabric's lock in the form that queues need (cq.Progress). A send moves the message, so there is no other
// progress to make.
type lock struct{ sync.Mutex }

func (*lock) Pass()        {}
func (*lock) FlushStaged() {}
func (*lock) EnterWait()   {}
func (*lock) LeaveWait()   {}

func (f *fabric) Close() error           { return nil }
func (f *fabric) Attr() *core.FabricAttr { a := f.attr; return &a }
func (f *fabric) TryWait(o ...any) error { return cq.TryWait(o...) }
func (*fabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, core.ErrNoSys
}
func (*fabric) OpenEQ(attr core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	return cq.NewEventQueue(attr, set)
}
func (*fabric) OpenWait(attr core.WaitAttr) (core.WaitDriver, error) { return cq.NewWaitSet(attr) }

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	return &domain{f: f, attr: *info.Domain}, nil
}

// domain is the fabric. The embedded interface's other calls return ErrNoSys.
type domain struct {
	f    *fabric
	attr core.DomainAttr
}

func (*domain) Close() error                               { return nil }
func (d *domain) Attr() *core.DomainAttr                   { a := d.attr; return &a }
func (*domain) BindEQ(core.EQDriver, core.BindFlags) error { return core.ErrNoSys }
func (*domain) OpenScalable(*core.Info, *core.ScalableEndpoint) (core.ScalableDriver, error) {
	return nil, core.ErrNoSys
}
func (*domain) OpenSRX(*core.RxAttr) (core.SRXDriver, error) { return nil, core.ErrNoSys }
func (*domain) OpenSTX(*core.TxAttr) (core.STXDriver, error) { return nil, core.ErrNoSys }
func (*domain) RegMR(*core.MRAttr, core.AVDriver) (core.MRDriver, error) {
	return nil, core.ErrNoSys
}
func (*domain) QueryAtomic(core.Datatype, core.AtomicOp, core.AtomicFlags) (core.AtomicAttr, error) {
	return core.AtomicAttr{}, core.ErrOpNotSupp
}
func (*domain) QueryCollective(core.CollectiveOp, *core.CollectiveAttr, uint64) error {
	return core.ErrOpNotSupp
}
func (*domain) QueueWork(core.Work) error                            { return core.ErrNoSys }
func (*domain) CancelWork(core.OpContext) error                      { return core.ErrNoSys }
func (*domain) FlushWork(core.CounterDriver) error                   { return core.ErrNoSys }
func (*domain) OpenPoll(attr core.PollAttr) (core.PollDriver, error) { return cq.NewPollSet(attr) }

func (d *domain) OpenCQ(attr core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	return cq.New(attr, set, &d.f.lock)
}

func (d *domain) OpenCounter(attr core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	return cq.NewCounter(attr, set, &d.f.lock)
}

func (d *domain) OpenAV(attr core.AVAttr, _ *core.AddressVector) (core.AVDriver, error) {
	t, err := av.New(attr, core.FormatSockaddrIP, nil)
	if err != nil {
		return nil, err
	}
	return vector{t}, nil
}

// vector is an address vector without events.
type vector struct{ *av.Table }

func (vector) BindEQ(core.EQDriver, core.BindFlags) error { return core.ErrNoSys }

func (d *domain) OpenEndpoint(*core.Info, *core.Endpoint) (core.EndpointDriver, error) {
	d.f.Lock()
	defer d.f.Unlock()
	d.f.port++
	e := &endpoint{f: d.f, name: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), d.f.port)}
	d.f.eps[e.name] = e
	return e, nil
}
