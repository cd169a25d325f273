package core

// Flags is libfabric's 64-bit flag word. One word serves capabilities (fi_getinfo(3)), operation flags (fi_msg(3), fi_tagged(3), fi_rma(3)),
// completion flags (fi_cq(3)) and flags of control calls, as in rdma/fabric.h; a few bits mean different things in different calls.
type Flags uint64

// Primary capabilities and the operation kinds reported in completions.
const (
	CapMsg        Flags = 1 << 1 // FI_MSG
	CapRMA        Flags = 1 << 2 // FI_RMA
	CapTagged     Flags = 1 << 3 // FI_TAGGED
	CapAtomic     Flags = 1 << 4 // FI_ATOMIC
	CapMulticast  Flags = 1 << 5 // FI_MULTICAST
	CapCollective Flags = 1 << 6 // FI_COLLECTIVE
)

// Capability modifiers: the direction of transfers. In bind calls they say which traffic a queue or counter reports.
const (
	Read        Flags = 1 << 8  // FI_READ
	Write       Flags = 1 << 9  // FI_WRITE
	Recv        Flags = 1 << 10 // FI_RECV
	Send        Flags = 1 << 11 // FI_SEND
	Transmit    Flags = Send    // FI_TRANSMIT
	RemoteRead  Flags = 1 << 12 // FI_REMOTE_READ
	RemoteWrite Flags = 1 << 13 // FI_REMOTE_WRITE
)

// Operation and completion flags.
const (
	MultiRecv        Flags = 1 << 16 // FI_MULTI_RECV
	RemoteCQData     Flags = 1 << 17 // FI_REMOTE_CQ_DATA
	More             Flags = 1 << 18 // FI_MORE
	Peek             Flags = 1 << 19 // FI_PEEK
	Trigger          Flags = 1 << 20 // FI_TRIGGER
	Fence            Flags = 1 << 21 // FI_FENCE
	Completion       Flags = 1 << 24 // FI_COMPLETION
	EventFlag        Flags = 1 << 24 // FI_EVENT
	Inject           Flags = 1 << 25 // FI_INJECT
	InjectComplete   Flags = 1 << 26 // FI_INJECT_COMPLETE
	TransmitComplete Flags = 1 << 27 // FI_TRANSMIT_COMPLETE
	DeliveryComplete Flags = 1 << 28 // FI_DELIVERY_COMPLETE
	Affinity         Flags = 1 << 29 // FI_AFFINITY
	CommitComplete   Flags = 1 << 30 // FI_COMMIT_COMPLETE
	MatchComplete    Flags = 1 << 31 // FI_MATCH_COMPLETE
	Claim            Flags = 1 << 59 // FI_CLAIM
	Discard          Flags = 1 << 58 // FI_DISCARD
	AuthKey          Flags = 1 << 57 // FI_AUTH_KEY
)

// Secondary capabilities, and flags of control calls.
const (
	Rescan                Flags = 1 << 35 // FI_RESCAN
	PeerTransfer          Flags = 1 << 36 // FI_PEER_TRANSFER
	MRDMABuf              Flags = 1 << 40 // FI_MR_DMABUF
	CapAVUserID           Flags = 1 << 41 // FI_AV_USER_ID
	CapFirewallAddr       Flags = 1 << 42 // FI_FIREWALL_ADDR
	CapPeer               Flags = 1 << 43 // FI_PEER
	CapXPU                Flags = 1 << 44 // FI_XPU
	CapTaggedDirectedRecv Flags = 1 << 45 // FI_TAGGED_DIRECTED_RECV
	CapTaggedMultiRecv    Flags = 1 << 46 // FI_TAGGED_MULTI_RECV
	CapHMem               Flags = 1 << 47 // FI_HMEM
	CapExactDirectedRecv  Flags = 1 << 48 // FI_EXACT_DIRECTED_RECV
	CapRMAPMem            Flags = 1 << 49 // FI_RMA_PMEM
	CapSourceErr          Flags = 1 << 50 // FI_SOURCE_ERR
	CapLocalComm          Flags = 1 << 51 // FI_LOCAL_COMM
	CapRemoteComm         Flags = 1 << 52 // FI_REMOTE_COMM
	CapSharedAV           Flags = 1 << 53 // FI_SHARED_AV
	ProvAttrOnly          Flags = 1 << 54 // FI_PROV_ATTR_ONLY
	NumericHost           Flags = 1 << 55 // FI_NUMERICHOST
	CapRMAEvent           Flags = 1 << 56 // FI_RMA_EVENT
	Source                Flags = 1 << 57 // FI_SOURCE: a capability, and in GetInfo "node and service name the local side"
	CapNamedRxCtx         Flags = 1 << 58 // FI_NAMED_RX_CTX
	CapDirectedRecv       Flags = 1 << 59 // FI_DIRECTED_RECV
	CapMultiRecv                = MultiRecv
	CapTrigger                  = Trigger
	CapFence                    = Fence
	SelectiveCompletion   Flags = 1 << 59 // FI_SELECTIVE_COMPLETION, a flag of Endpoint.BindCQ
)

// BindTransmit and BindRecv are the directions given to Endpoint.BindCQ (fi_endpoint(3)).
const (
	BindTransmit = Transmit
	BindRecv     = Recv
)

// Mode is a provider's demand on its caller (fi_getinfo(3), "MODE").
type Mode uint64

const (
	ModeContext2  Mode = 1 << 52 // FI_CONTEXT2
	ModeRxCQData  Mode = 1 << 56 // FI_RX_CQ_DATA
	ModeAsyncIOV  Mode = 1 << 57 // FI_ASYNC_IOV
	ModeMsgPrefix Mode = 1 << 58 // FI_MSG_PREFIX
	ModeContext   Mode = 1 << 59 // FI_CONTEXT
)

// Order is a set of message ordering guarantees (fi_endpoint(3), "msg_order").
type Order uint64

const (
	OrderRAR       Order = 1 << 0
	OrderRAW       Order = 1 << 1
	OrderRAS       Order = 1 << 2
	OrderWAR       Order = 1 << 3
	OrderWAW       Order = 1 << 4
	OrderWAS       Order = 1 << 5
	OrderSAR       Order = 1 << 6
	OrderSAW       Order = 1 << 7
	OrderSAS       Order = 1 << 8
	OrderRMARAR    Order = 1 << 32
	OrderRMARAW    Order = 1 << 33
	OrderRMAWAR    Order = 1 << 34
	OrderRMAWAW    Order = 1 << 35
	OrderAtomicRAR Order = 1 << 36
	OrderAtomicRAW Order = 1 << 37
	OrderAtomicWAR Order = 1 << 38
	OrderAtomicWAW Order = 1 << 39
)

// MRMode is the set of memory-registration modes (fi_mr(3), "MR mode bits").
type MRMode uint32

const (
	MRModeBasic     MRMode = 1 << 0 // FI_MR_BASIC, the name of API versions before 1.5
	MRModeScalable  MRMode = 1 << 1 // FI_MR_SCALABLE, likewise
	MRModeLocal     MRMode = 1 << 2
	MRModeRaw       MRMode = 1 << 3
	MRModeVirtAddr  MRMode = 1 << 4
	MRModeAllocated MRMode = 1 << 5
	MRModeProvKey   MRMode = 1 << 6
	MRModeMMUNotify MRMode = 1 << 7
	MRModeRMAEvent  MRMode = 1 << 8
	MRModeEndpoint  MRMode = 1 << 9
	MRModeHMem      MRMode = 1 << 10
	MRModeCollect   MRMode = 1 << 11
	MRModeXPUDesc   MRMode = 1 << 12
)
