package core

// Domain is an open domain. It owns endpoints, queues, vectors and memory regions (struct fid_domain,
// fi_domain(3)).
type Domain struct {
	d DomainDriver
	f *Fabric
}

// Driver returns the provider's side of the domain.
func (d *Domain) Driver() DomainDriver { return d.d }

// Close closes the domain (fi_close(3)). The error is ErrBusy while an object of it is open.
func (d *Domain) Close() error { return d.d.Close() }

// Attr returns the domain's attributes. They belong to the caller.
func (d *Domain) Attr() *DomainAttr { return d.d.Attr() }

// Fabric returns the fabric that the domain was opened on.
func (d *Domain) Fabric() *Fabric { return d.f }

// BindEQ binds the event queue for the domain's asynchronous events (fi_domain_bind(3)). flags must be 0.
func (d *Domain) BindEQ(eq *EventQueue, flags BindFlags) error { return d.d.BindEQ(eq.driver(), flags) }

// OpenEndpoint opens an active endpoint (fi_endpoint(3)). For a connection request pass EQEvent.Info.
func (d *Domain) OpenEndpoint(info *Info) (*Endpoint, error) {
	if info != nil {
		if p, ok := info.Handle.(*PassiveEndpoint); ok {
			i := *info
			i.Handle, info = p.d, &i
		}
	}
	e := &Endpoint{}
	driver, err := d.d.OpenEndpoint(info, e)
	if err != nil {
		return nil, err
	}
	e.stand(driver)
	return e, nil
}

// OpenScalable opens a scalable endpoint with the numbers of contexts that info.EP has (fi_scalable_ep,
// fi_endpoint(3)).
func (d *Domain) OpenScalable(info *Info) (*ScalableEndpoint, error) {
	e := &ScalableEndpoint{}
	driver, err := d.d.OpenScalable(info, e)
	if err != nil {
		return nil, err
	}
	e.contexts = driver
	e.stand(driver)
	return e, nil
}

// OpenSRX opens a shared receive context (fi_srx_context(3)); attr may be nil.
func (d *Domain) OpenSRX(attr *RxAttr) (*SharedRx, error) {
	driver, err := d.d.OpenSRX(attr)
	return made(&SharedRx{receives: receivesOf(driver), d: driver}, err)
}

// OpenSTX opens a shared transmit context (fi_stx_context(3)); attr may be nil.
func (d *Domain) OpenSTX(attr *TxAttr) (*SharedTx, error) {
	driver, err := d.d.OpenSTX(attr)
	return made(&SharedTx{driver}, err)
}

// OpenCQ opens a completion queue (fi_cq_open(3)).
func (d *Domain) OpenCQ(attr CQAttr) (*CompletionQueue, error) {
	driver, err := d.d.OpenCQ(attr, attr.WaitSet.driver())
	return made(&CompletionQueue{driver}, err)
}

// OpenCounter opens a counter (fi_cntr_open(3)).
func (d *Domain) OpenCounter(attr CntrAttr) (*Counter, error) {
	driver, err := d.d.OpenCounter(attr, attr.WaitSet.driver())
	return made(&Counter{driver}, err)
}

// OpenPoll opens a poll set (fi_poll_open(3)).
func (d *Domain) OpenPoll(attr PollAttr) (*PollSet, error) {
	driver, err := d.d.OpenPoll(attr)
	return made(&PollSet{driver}, err)
}

// OpenAV opens an address vector (fi_av_open(3)).
func (d *Domain) OpenAV(attr AVAttr) (*AddressVector, error) {
	v := &AddressVector{}
	var err error
	v.d, err = d.d.OpenAV(attr, v)
	return made(v, err)
}

// RegMR registers memory (fi_mr_regattr(3)). The region borrows the memory until MemoryRegion.Close.
func (d *Domain) RegMR(attr *MRAttr) (*MemoryRegion, error) {
	var av AVDriver
	if attr != nil {
		av = attr.AuthAV.driver()
	}
	driver, err := d.d.RegMR(attr, av)
	return made(&MemoryRegion{driver}, err)
}

// QueryAtomic describes the atomic operation op on operands of type dt (fi_query_atomic(3)). flags select the call:
// AtomicFetch, AtomicCompare, or 0 for Endpoint.Atomic. The error is ErrOpNotSupp if there is no such operation.
func (d *Domain) QueryAtomic(dt Datatype, op AtomicOp, flags AtomicFlags) (AtomicAttr, error) {
	return d.d.QueryAtomic(dt, op, flags)
}

// QueryCollective fills in attr, which describes a collective operation (fi_query_collective(3)). flags must be 0.
// The error is ErrOpNotSupp if there is no such operation.
func (d *Domain) QueryCollective(op CollectiveOp, attr *CollectiveAttr, flags uint64) error {
	return d.d.QueryCollective(op, attr, flags)
}

// MRFlags are the flags of MRAttr (fi_mr(3)).
type MRFlags uint64

// The flags of regions.
const (
	MRDMABuf   MRFlags = 1 << 40 // FI_MR_DMABUF: no provider of this module takes it
	MRRMAPMem  MRFlags = 1 << 49 // FI_RMA_PMEM: the memory is persistent
	MRRMAEvent MRFlags = 1 << 56 // FI_RMA_EVENT: BindCounter and Enable follow
)

// MRAttr is struct fi_mr_attr (fi_mr(3)).
type MRAttr struct {
	IOV          [][]byte // the memory; the region borrows it until Close
	Access       Access
	Offset       uint64 // must be 0, as native demands
	RequestedKey uint64 // ignored with MRModeProvKey
	Flags        MRFlags
	// AuthKey is the authorization key that peers need to access the region (auth_key), nil for the domain's key.
	// Without a key, all peers that may communicate with an endpoint of the domain may access the region.
	AuthKey []byte
	// AuthAV, in a domain with AVAuthKey, is the vector that has the keys: a peer needs one of them (struct
	// fi_mr_auth_key).
	AuthAV *AddressVector
}

// Desc is a local memory descriptor, for providers with MRModeLocal. MemoryRegion.Desc returns it. 0 is none.
type Desc uint64

// MemoryRegion is registered memory (fi_mr(3)).
type MemoryRegion struct{ d MRDriver }

// Close ends the registration (fi_close(3)). After it has returned, no operation of a peer accesses the memory.
func (m *MemoryRegion) Close() error { return m.d.Close() }

// Desc returns the region's local descriptor (fi_mr_desc(3)).
func (m *MemoryRegion) Desc() Desc { return m.d.Desc() }

// Key returns the key that peers pass to access the region (fi_mr_key(3)).
func (m *MemoryRegion) Key() uint64 { return m.d.Key() }

// Base returns the remote address of the region's first byte: its virtual address with MRModeVirtAddr, else 0.
func (m *MemoryRegion) Base() uint64 { return m.d.Base() }

// BindCounter makes c count the remote accesses to the region (fi_mr_bind(3)). flags are BindRemoteWrite,
// BindRemoteRead or both.
func (m *MemoryRegion) BindCounter(c *Counter, flags BindFlags) error {
	return m.d.Bind(c.driver(), flags)
}

// BindEndpoint binds the endpoint that the region is for, in domains with MRModeEndpoint (fi_mr_bind(3)).
func (m *MemoryRegion) BindEndpoint(ep *Endpoint) error { return m.d.Bind(ep.driver(), 0) }

// Enable lets peers access the region (fi_mr_enable(3)): after BindEndpoint, or after BindCounter with MRRMAEvent.
func (m *MemoryRegion) Enable() error { return m.d.Enable() }
