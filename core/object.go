package core

// Object is what all fabric objects have in common (struct fid, fabric(7)).
type Object interface {
	// Close frees the object (fi_close(3)). It fails with ErrBusy while other objects still use it. A closed object's other methods must not be
	// called; those that may run concurrently return an error.
	Close() error
}

// Fabric is an open fabric: a network that its domains share (fi_fabric(3)).
type Fabric interface {
	Object
	Attr() *FabricAttr
	// OpenDomain opens access to the network through one interface (fi_domain(3)).
	OpenDomain(info *Info) (Domain, error)
	// OpenPassiveEndpoint opens a listener for connections (fi_passive_ep(3)); MSG endpoints only.
	OpenPassiveEndpoint(info *Info) (PassiveEndpoint, error)
	// OpenEQ opens an event queue (fi_eq_open(3)).
	OpenEQ(attr EQAttr) (EventQueue, error)
	// OpenWait opens a wait set (fi_wait_open(3)).
	OpenWait(attr WaitAttr) (WaitSet, error)
	// TryWait says whether it is safe to block on the wait objects of the given queues and counters (fi_trywait(3)): nil if so, ErrAgain if
	// one of them has something to read.
	TryWait(objs ...Object) error
}

// Domain is an open resource domain: the owner of endpoints, queues, vectors and memory regions (fi_domain(3)).
type Domain interface {
	Object
	Attr() *DomainAttr
	Fabric() Fabric
	// BindEQ directs asynchronous events of the domain to eq (fi_domain_bind(3)).
	BindEQ(eq EventQueue, flags Flags) error
	// OpenEndpoint opens an active endpoint (fi_endpoint(3)). For a connection request, pass the Info that came with the event.
	OpenEndpoint(info *Info) (Endpoint, error)
	// OpenScalable opens a scalable endpoint, with as many contexts as info.EP says (fi_scalable_ep, fi_endpoint(3)).
	OpenScalable(info *Info) (ScalableEndpoint, error)
	// OpenSRX opens a shared receive context (fi_srx_context(3)), OpenSTX a shared transmit context (fi_stx_context(3)); attr may be nil.
	OpenSRX(attr *RxAttr) (SharedRx, error)
	OpenSTX(attr *TxAttr) (SharedTx, error)
	OpenCQ(attr CQAttr) (CompletionQueue, error)                              // fi_cq_open(3)
	OpenCounter(attr CntrAttr) (Counter, error)                               // fi_cntr_open(3)
	OpenAV(attr AVAttr) (AddressVector, error)                                // fi_av_open(3)
	OpenPoll(attr PollAttr) (PollSet, error)                                  // fi_poll_open(3)
	RegMR(attr *MRAttr) (MemoryRegion, error)                                 // fi_mr_regattr(3)
	QueryAtomic(dt Datatype, op AtomicOp, flags Flags) (AtomicAttr, error)    // fi_query_atomic(3)
	QueryCollective(op CollectiveOp, attr *CollectiveAttr, flags Flags) error // fi_query_collective (fi_collective(3))
	WorkQueue                                                                 // fi_trigger(3)
}

// PassiveEndpoint listens for connection requests, which arrive as EventConnReq on the bound event queue (fi_cm(3)).
type PassiveEndpoint interface {
	Object
	BindEQ(eq EventQueue, flags Flags) error
	Listen() error
	// Reject refuses a connection request (fi_reject(3)); handle is the request's Info.Handle, param at most OptCMDataSize bytes.
	Reject(handle Handle, param []byte) error
	Name() (Addr, error)  // fi_getname(3)
	SetName(a Addr) error // fi_setname(3)
	GetOpt(opt EPOpt) (int, error)
	SetOpt(opt EPOpt, value int) error
}

// Endpoint is an active endpoint (fi_endpoint(3)). Before Enable only control calls are allowed; data calls then return ErrOpBadState.
//
// Every method exists on every endpoint; what a provider lacks returns ErrNoSys or ErrOpNotSupp.
type Endpoint interface {
	Object
	BindCQ(cq CompletionQueue, flags Flags) error // BindTransmit, BindRecv, SelectiveCompletion
	BindCounter(c Counter, flags Flags) error     // Send, Recv, Read, Write, RemoteRead, RemoteWrite
	BindAV(av AddressVector, flags Flags) error
	BindEQ(eq EventQueue, flags Flags) error
	BindSRX(srx SharedRx) error
	BindSTX(stx SharedTx) error
	Enable() error
	// Cancel cancels the receive (or a send of which nothing was transmitted yet) posted with ctx (fi_cancel(3)). A canceled operation
	// completes with ErrCanceled.
	Cancel(ctx Context) error
	// Alias returns a second endpoint over the same resources with other default operation flags for transmits or receives: flags has Transmit
	// or Recv, plus the operation flags (fi_ep_alias(3)).
	Alias(flags Flags) (Endpoint, error)
	GetOpt(opt EPOpt) (int, error)     // fi_getopt(3)
	SetOpt(opt EPOpt, value int) error // fi_setopt(3)
	// OpFlags and SetOpFlags read and change the default operation flags; dir is Transmit or Recv (FI_GETOPSFLAG, FI_SETOPSFLAG).
	OpFlags(dir Flags) (Flags, error)
	SetOpFlags(dir, flags Flags) error
	TxSizeLeft() (int, error) // fi_tx_size_left(3)
	RxSizeLeft() (int, error) // fi_rx_size_left(3)
	CM
	Msg
	Tagged
	RMA
	Atomic
	Collective
}

// CM is connection management (fi_cm(3)). For MSG endpoints all of it; connectionless ones have Name and SetName.
type CM interface {
	Name() (Addr, error)
	SetName(a Addr) error
	Peer() (Addr, error) // fi_getpeer(3)
	// Connect starts a connection; EventConnected or an error event follows on the event queue. param is private data for the listener. Connect and Accept
	// enable an endpoint that is not (fi_endpoint(3)).
	Connect(dest Addr, param []byte) error
	// Accept accepts the connection request this endpoint was opened from.
	Accept(param []byte) error
	// Shutdown ends the connection; the peer gets EventShutdown.
	Shutdown() error
}

// SharedRx is a shared receive context: receives posted here serve all endpoints bound to it (fi_srx_context(3)).
//
// Completions go to the queues and counters of the endpoint that the message came for, or to those that are bound to the context itself, before endpoints are
// bound to it.
type SharedRx interface {
	Object
	BindCQ(cq CompletionQueue, flags Flags) error // Recv, SelectiveCompletion
	BindCounter(c Counter, flags Flags) error     // Recv
	Receiver
	TaggedReceiver
	Cancel(ctx Context) error
	GetOpt(opt EPOpt) (int, error)
	SetOpt(opt EPOpt, value int) error
}

// AVAttr is struct fi_av_attr (fi_av(3)).
type AVAttr struct {
	Type      AVType
	RxCtxBits int // upper bits of an FIAddr that name a receive context of the peer, see RxAddr; at most 8
	Count     int // how many addresses to make room for; a hint
	EPPerNode int
	Name      string // of a vector shared by processes of the host that open domains of the same name; "" for a private one
	MapAddr   uint64 // of a shared vector: an index means the same to all who open it, so it is only remembered
	Flags     Flags  // EventFlag, Read, Symmetric, CapAVUserID
}

// AddressVector maps transport addresses to FIAddr (fi_av(3)). Lowest free index first. Its methods may be called from any goroutine.
//
// Insertions are synchronous unless the vector was opened with EventFlag. Then they return 0 at once, and their outcome comes to the event queue that
// BindEQ named: an error entry for each refused address, with its position in Data, and an EventAVComplete with the number of inserted ones. Object is the
// vector and Context the one argument that the insertion may have after its flags, which synchronous ones ignore. fi must stay valid until then.
//
// Flags of insertions are More, a hint; SyncErr; CapFirewallAddr: nobody can connect to there, so that on stacks that stand on connections operations fail
// with ErrFirewallAddr until there is a connection from there; CapAVUserID: fi brings, for each address, the identifier that completions report in place of
// its index; and AuthKey: fi brings the authorization key of each, see InsertAuthKey.
type AddressVector interface {
	Object
	// Attr returns what the vector was opened with, AVAttr.Type being the type chosen.
	Attr() AVAttr
	// BindEQ names the queue for the events of a vector opened with EventFlag (fi_av_bind(3)); flags must be 0.
	BindEQ(eq EventQueue, flags Flags) error
	// Insert adds addresses (fi_av_insert(3)). It returns how many were inserted; fi, unless nil, receives the index of each, AddrNotAvail for a refused one.
	// Fewer than asked is no error, as in libfabric, but for insertions with SyncErr.
	Insert(addrs []Addr, fi []FIAddr, flags Flags, context ...any) (int, error)
	// InsertSvc resolves and inserts one address (fi_av_insertsvc(3)). The identifier for CapAVUserID is set by SetUserID.
	InsertSvc(node, service string, flags Flags, context ...any) (FIAddr, error)
	// InsertSym inserts nodecnt times svccnt addresses, counting up the node's and the service's number (fi_av_insertsym(3)).
	InsertSym(node string, nodecnt int, service string, svccnt int, fi []FIAddr, flags Flags, context ...any) (int, error)
	Remove(fi []FIAddr, flags Flags) error // fi_av_remove(3)
	Lookup(fi FIAddr) (Addr, error)        // fi_av_lookup(3)
	// SetUserID sets what completions report as the source in place of fi (fi_av_set_user_id(3)); the vector was opened with CapAVUserID.
	SetUserID(fi, id FIAddr, flags Flags) error
	// InsertAuthKey adds an authorization key to a vector of a domain with AVAuthKey (fi_av_insert_auth_key(3)), for the endpoints that are enabled with the
	// vector from then on, and for Insert with the flag AuthKey, to which fi brings what this returns. The flags must be 0. A vector takes
	// DomainAttr.MaxEPAuthKey keys, ErrNoSpc beyond; Remove with the flag AuthKey takes one out, ErrBusy while an endpoint uses it.
	InsertAuthKey(key []byte, flags Flags) (FIAddr, error)
	// LookupAuthKey returns a key by what InsertAuthKey returned, or by an address inserted under it (fi_av_lookup_auth_key(3)).
	LookupAuthKey(fi FIAddr) ([]byte, error)
	// StrAddr formats an address (fi_av_straddr(3)).
	StrAddr(a Addr) string
	// OpenSet makes a set of addresses of the vector (fi_av_set(3)).
	OpenSet(attr AVSetAttr) (AVSet, error)
}

// MRAttr is struct fi_mr_attr (fi_mr(3)).
type MRAttr struct {
	IOV          [][]byte // the memory; the region borrows it until Close
	Access       Flags    // Send, Recv, Read, Write, RemoteRead, RemoteWrite
	Offset       uint64   // must be 0, as native demands
	RequestedKey uint64   // ignored with MRModeProvKey
	Flags        Flags    // RMAEvent and others
	// AuthKey is the authorization key that peers must have who access the region (auth_key); nil for the domain's. A region without one is there for all
	// who may talk to an endpoint of the domain.
	AuthKey []byte
	// AuthAV, of a domain with AVAuthKey, is the vector whose keys they must have one of (struct fi_mr_auth_key).
	AuthAV AddressVector
}

// Desc is a local memory descriptor, from MemoryRegion.Desc, for providers with MRModeLocal; 0 is none.
type Desc uint64

// MemoryRegion is registered memory (fi_mr(3)).
type MemoryRegion interface {
	Object
	Desc() Desc
	Key() uint64
	// Base is the remote address of the region's first byte: its virtual address with MRModeVirtAddr, else 0.
	Base() uint64
	// BindCounter counts remote writes to the region (fi_mr_bind(3)); flags is RemoteWrite, RemoteRead or both.
	BindCounter(c Counter, flags Flags) error
	// BindEndpoint and Enable are for domains with MRModeEndpoint.
	BindEndpoint(ep Endpoint) error
	Enable() error
}
