package core

import "context"

// This file has the interfaces that a provider implements. Applications use the structs of this package (Fabric,
// Domain, Endpoint, ...), each of which stands on one of these interfaces, as database/sql stands on its drivers.
// The variants of a call differ only in the form of their arguments, and are written once, above the interface.
//
// These rules hold for all drivers. Objects that are passed to a driver are drivers of the same stack, or those of
// a hook above it. An object of another provider is ErrInval. self is the application's object: a driver only
// stores it in EQEvent.Object. A type assertion may find further methods on the driver of a layer.

// FabricDriver is an open fabric of a provider.
type FabricDriver interface {
	Close() error
	Attr() *FabricAttr // belongs to the caller
	OpenDomain(info *Info) (DomainDriver, error)
	OpenPassiveEndpoint(info *Info, self *PassiveEndpoint) (PassiveDriver, error)
	OpenEQ(attr EQAttr, set WaitDriver) (EQDriver, error) // set is as in OpenCQ
	OpenWait(attr WaitAttr) (WaitDriver, error)
	// TryWait takes drivers of queues, counters and wait sets.
	TryWait(objs ...any) error
}

// DomainDriver is an open domain of a provider.
type DomainDriver interface {
	Close() error
	Attr() *DomainAttr // belongs to the caller
	BindEQ(eq EQDriver, flags BindFlags) error
	// OpenEndpoint opens an active endpoint. Info.Handle may be a PassiveDriver: the endpoint takes over its
	// address.
	OpenEndpoint(info *Info, self *Endpoint) (EndpointDriver, error)
	OpenScalable(info *Info, self *ScalableEndpoint) (ScalableDriver, error)
	OpenSRX(attr *RxAttr) (SRXDriver, error)
	OpenSTX(attr *TxAttr) (STXDriver, error)
	// OpenCQ and OpenCounter: set is the wait set of attr, nil if there is none.
	OpenCQ(attr CQAttr, set WaitDriver) (CQDriver, error)
	OpenCounter(attr CntrAttr, set WaitDriver) (CounterDriver, error)
	OpenPoll(attr PollAttr) (PollDriver, error)
	OpenAV(attr AVAttr, self *AddressVector) (AVDriver, error)
	// RegMR registers memory. av is the driver of attr.AuthAV, nil if there is none.
	RegMR(attr *MRAttr, av AVDriver) (MRDriver, error)
	QueryAtomic(dt Datatype, op AtomicOp, flags AtomicFlags) (AtomicAttr, error)
	QueryCollective(op CollectiveOp, attr *CollectiveAttr, flags uint64) error
	QueueWork(w Work) error
	CancelWork(ctx OpContext) error
	FlushWork(c CounterDriver) error // nil: all counters
}

// EndpointDriver is an active endpoint of a provider.
//
// If a driver also implements PlainSender or PlainReceiver, the plain calls use these instead of Post. This saves
// time where an operation takes tens of nanoseconds. HalfCloser and Multicaster are optional, too.
type EndpointDriver interface {
	Close() error
	// Bind binds a CQDriver, CounterDriver, AVDriver, EQDriver, SRXDriver or STXDriver (fi_ep_bind(3)).
	Bind(obj any, flags BindFlags) error
	Enable() error
	Cancel(ctx OpContext) error
	Alias(dir BindFlags, flags OpFlags) (EndpointDriver, error)
	GetOpt(opt EPOpt) (int, error)
	SetOpt(opt EPOpt, value int) error
	OpFlags(dir BindFlags) (OpFlags, error)
	SetOpFlags(dir BindFlags, flags OpFlags) error
	SizeLeft(dir BindFlags) (int, error) // dir is BindTransmit or BindRecv
	Name() (Addr, error)
	SetName(a Addr) error
	Peer() (Addr, error)
	Connect(dest Addr, param []byte) error
	Accept(param []byte) error
	Shutdown() error
	// Post starts a data transfer. The driver owns the memory of the buffers until the completion, and the slices
	// of slices until Post returns.
	Post(op Op) error
	// AtomicCount returns the largest number of operands of an atomic operation. what is OpAtomic, OpFetchAtomic or
	// OpCompareAtomic.
	AtomicCount(what OpType, dt Datatype, op AtomicOp) (int, error)
	// JoinCollective joins the group of a set. The driver calls made once: it turns the driver's group into the
	// application's, which events report.
	JoinCollective(coll FIAddr, set AVSetDriver, flags JoinFlags, ctx any, made func(MCDriver) *MC) error
	Collective(op CollOp) error
}

// PlainSender is an EndpointDriver with methods of its own for the shortest transmits. Endpoint documents them.
type PlainSender interface {
	Send(buf []byte, desc Desc, dest FIAddr, ctx OpContext) error
	TSend(buf []byte, desc Desc, dest FIAddr, tag uint64, ctx OpContext) error
	Inject(buf []byte, dest FIAddr) error
	TInject(buf []byte, dest FIAddr, tag uint64) error
}

// PlainReceiver is an EndpointDriver or SRXDriver with methods of its own for the shortest receives.
type PlainReceiver interface {
	Recv(buf []byte, desc Desc, src FIAddr, ctx OpContext) error
	TRecv(buf []byte, desc Desc, src FIAddr, tag, ignore uint64, ctx OpContext) error
}

// HalfCloser is an EndpointDriver that can end its own direction of a connection and still receive; see
// Endpoint.CloseWrite.
type HalfCloser interface {
	CloseWrite() error
	PeerClosed() bool
}

// Multicaster is an EndpointDriver that can join multicast groups; see Endpoint.Join. made is as in JoinCollective.
type Multicaster interface {
	Join(addr Addr, flags JoinFlags, ctx any, made func(MCDriver) *MC) error
}

// ScalableDriver is a scalable endpoint of a provider.
type ScalableDriver interface {
	EndpointDriver
	TxContext(index int, attr *TxAttr) (EndpointDriver, error)
	RxContext(index int, attr *RxAttr) (EndpointDriver, error)
}

// PassiveDriver is a passive endpoint of a provider.
type PassiveDriver interface {
	Close() error
	BindEQ(eq EQDriver, flags BindFlags) error
	Listen() error
	Reject(handle Handle, param []byte) error
	Name() (Addr, error)
	SetName(a Addr) error
	GetOpt(opt EPOpt) (int, error)
	SetOpt(opt EPOpt, value int) error
}

// SRXDriver is a shared receive context of a provider. It may be a PlainReceiver, too.
type SRXDriver interface {
	Close() error
	Bind(obj any, flags BindFlags) error // a CQDriver or CounterDriver
	Post(op Op) error                    // receives
	Cancel(ctx OpContext) error
	GetOpt(opt EPOpt) (int, error)
	SetOpt(opt EPOpt, value int) error
}

// STXDriver is a shared transmit context of a provider.
type STXDriver interface{ Close() error }

// CQDriver is a completion queue.
type CQDriver interface {
	Close() error
	// Read takes completions. src is nil or has the length of entries.
	Read(entries []CQEntry, src []FIAddr) (int, error)
	SRead(ctx context.Context, entries []CQEntry, src []FIAddr) (int, error)
	ReadErr(e *CQErrEntry) error
	Signal() error
	WaitFD() (int, error)
	StrError(provErrno int) string
}

// EQDriver is an event queue.
type EQDriver interface {
	Close() error
	Read(ev *EQEvent, flags EQFlags) error
	SRead(ctx context.Context, ev *EQEvent, flags EQFlags) error
	ReadErr(e *EQErrEntry, flags EQFlags) error
	Write(ev EQEvent, flags EQFlags) error
	WaitFD() (int, error)
	StrError(provErrno int) string
}

// CounterDriver is a counter.
type CounterDriver interface {
	Close() error
	Value() uint64
	ErrValue() uint64
	Change(what CounterChange, v uint64) error
	Wait(ctx context.Context, threshold uint64) error
	WaitFD() (int, error)
}

// CounterChange is the operation of CounterDriver.Change.
type CounterChange uint8

// The changes.
const (
	CounterAdd    CounterChange = iota // fi_cntr_add
	CounterAddErr                      // fi_cntr_adderr
	CounterSet                         // fi_cntr_set
	CounterSetErr                      // fi_cntr_seterr
)

// WaitDriver is a wait set.
type WaitDriver interface {
	Close() error
	Wait(ctx context.Context) error
	WaitFD() (int, error)
}

// PollDriver is a poll set. Its members are CQDrivers and CounterDrivers. Poll stores the self that Add received
// with each.
type PollDriver interface {
	Close() error
	Add(obj any, self Object) error
	Del(obj any) error
	Poll(ready []Object) (int, error)
}

// AVDriver is an address vector.
type AVDriver interface {
	Close() error
	Attr() AVAttr
	BindEQ(eq EQDriver, flags BindFlags) error
	Insert(addrs []Addr, fi []FIAddr, flags InsertFlags, context ...any) (int, error)
	InsertSvc(node, service string, flags InsertFlags, context ...any) (FIAddr, error)
	InsertSym(node string, nodecnt int, service string, svccnt int, fi []FIAddr, flags InsertFlags, context ...any) (int, error)
	Remove(fi []FIAddr, flags InsertFlags) error
	Lookup(fi FIAddr) (Addr, error)
	SetUserID(fi, id FIAddr, flags InsertFlags) error
	InsertAuthKey(key []byte, flags InsertFlags) (FIAddr, error)
	LookupAuthKey(fi FIAddr) ([]byte, error)
	OpenSet(attr AVSetAttr) (AVSetDriver, error)
}

// AVSetDriver is a set of addresses of a vector.
type AVSetDriver interface {
	Close() error
	Combine(how SetOp, src AVSetDriver) error
	Insert(fi FIAddr) error
	Remove(fi FIAddr) error
	Addr() FIAddr
	Members() []FIAddr // belongs to the caller
}

// SetOp is the operation of AVSetDriver.Combine.
type SetOp uint8

// The operations.
const (
	SetUnion     SetOp = iota // fi_av_set_union
	SetIntersect              // fi_av_set_intersect
	SetDiff                   // fi_av_set_diff
)

// MRDriver is a memory region.
type MRDriver interface {
	Close() error
	Desc() Desc
	Key() uint64
	Base() uint64
	Bind(obj any, flags BindFlags) error // a CounterDriver or EndpointDriver (fi_mr_bind(3))
	Enable() error
}

// MCDriver is a membership in a multicast or collective group.
type MCDriver interface {
	Close() error
	Addr() FIAddr
}
