package core

// libfabric has one 64-bit flag word, in which a bit means different things in different calls (rdma/fabric.h).
// Here each family is a type, so that a flag of the wrong family does not compile. The package comment lists the
// types.

// Caps are capabilities: those that a caller asks for and those that a provider has (fi_getinfo(3),
// "CAPABILITIES"). String returns fi_tostr's text.
type Caps uint64

// The kinds of transfers.
const (
	CapMsg        Caps = 1 << 1 // FI_MSG
	CapRMA        Caps = 1 << 2 // FI_RMA
	CapTagged     Caps = 1 << 3 // FI_TAGGED
	CapAtomic     Caps = 1 << 4 // FI_ATOMIC
	CapMulticast  Caps = 1 << 5 // FI_MULTICAST
	CapCollective Caps = 1 << 6 // FI_COLLECTIVE
)

// The directions of transfers. None of them means all.
const (
	CapRead        Caps = 1 << 8  // FI_READ
	CapWrite       Caps = 1 << 9  // FI_WRITE
	CapRecv        Caps = 1 << 10 // FI_RECV
	CapSend        Caps = 1 << 11 // FI_SEND
	CapRemoteRead  Caps = 1 << 12 // FI_REMOTE_READ
	CapRemoteWrite Caps = 1 << 13 // FI_REMOTE_WRITE
)

// The other capabilities.
const (
	CapMultiRecv          Caps = 1 << 16 // FI_MULTI_RECV
	CapTrigger            Caps = 1 << 20 // FI_TRIGGER
	CapFence              Caps = 1 << 21 // FI_FENCE
	CapAVUserID           Caps = 1 << 41 // FI_AV_USER_ID
	CapFirewallAddr       Caps = 1 << 42 // FI_FIREWALL_ADDR
	CapPeer               Caps = 1 << 43 // FI_PEER
	CapXPU                Caps = 1 << 44 // FI_XPU
	CapTaggedDirectedRecv Caps = 1 << 45 // FI_TAGGED_DIRECTED_RECV
	CapTaggedMultiRecv    Caps = 1 << 46 // FI_TAGGED_MULTI_RECV
	CapHMem               Caps = 1 << 47 // FI_HMEM
	CapExactDirectedRecv  Caps = 1 << 48 // FI_EXACT_DIRECTED_RECV
	CapRMAPMem            Caps = 1 << 49 // FI_RMA_PMEM
	CapSourceErr          Caps = 1 << 50 // FI_SOURCE_ERR
	CapLocalComm          Caps = 1 << 51 // FI_LOCAL_COMM
	CapRemoteComm         Caps = 1 << 52 // FI_REMOTE_COMM
	CapSharedAV           Caps = 1 << 53 // FI_SHARED_AV
	CapRMAEvent           Caps = 1 << 56 // FI_RMA_EVENT
	CapSource             Caps = 1 << 57 // FI_SOURCE
	CapNamedRxCtx         Caps = 1 << 58 // FI_NAMED_RX_CTX
	CapDirectedRecv       Caps = 1 << 59 // FI_DIRECTED_RECV
)

// OpFlags are operation flags: arguments of the msg variants of calls (SendMsg, TRecvMsg, WriteMsg, ...), and in
// TxAttr and RxAttr the default of the other calls (fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3),
// fi_endpoint(3)). String returns fi_tostr's text.
type OpFlags uint64

// The operation flags.
const (
	OpMulticast        OpFlags = 1 << 5  // FI_MULTICAST: the destination is a group's address
	OpMultiRecv        OpFlags = 1 << 16 // FI_MULTI_RECV: the buffer receives messages until less than OptMinMultiRecv bytes are left
	OpRemoteCQData     OpFlags = 1 << 17 // FI_REMOTE_CQ_DATA: send the field Data, too
	OpMore             OpFlags = 1 << 18 // FI_MORE: another operation follows at once; this one may wait for it
	OpPeek             OpFlags = 1 << 19 // FI_PEEK: look for a message that has arrived
	OpTrigger          OpFlags = 1 << 20 // FI_TRIGGER: start when the field Trigger says so
	OpFence            OpFlags = 1 << 21 // FI_FENCE: start when all earlier operations to the same peer are complete
	OpCompletion       OpFlags = 1 << 24 // FI_COMPLETION: write a completion, on an endpoint with BindSelectiveCompletion
	OpInject           OpFlags = 1 << 25 // FI_INJECT: the buffer belongs to the caller when the call returns
	OpInjectComplete   OpFlags = 1 << 26 // FI_INJECT_COMPLETE: complete when the buffer may be reused
	OpTransmitComplete OpFlags = 1 << 27 // FI_TRANSMIT_COMPLETE: complete when the transfer no longer depends on this process
	OpDeliveryComplete OpFlags = 1 << 28 // FI_DELIVERY_COMPLETE: complete when the data is in the target's memory
	OpAffinity         OpFlags = 1 << 29 // FI_AFFINITY
	OpCommitComplete   OpFlags = 1 << 30 // FI_COMMIT_COMPLETE: complete when the data is in persistent memory
	OpMatchComplete    OpFlags = 1 << 31 // FI_MATCH_COMPLETE: complete when the message has matched a receive
	OpAuthKey          OpFlags = 1 << 57 // FI_AUTH_KEY: the source of a receive is an authorization key (InsertAuthKey)
	OpDiscard          OpFlags = 1 << 58 // FI_DISCARD: drop the message that was claimed or found
	OpClaim            OpFlags = 1 << 59 // FI_CLAIM: reserve the message that OpPeek finds, or receive the reserved one
)

// CompFlags are completion flags, in CQEntry.Flags: the kind of the completed operation (fi_cq(3)). String returns
// fi_tostr's text.
type CompFlags uint64

// The completion flags.
const (
	CompMsg          CompFlags = 1 << 1  // FI_MSG
	CompRMA          CompFlags = 1 << 2  // FI_RMA
	CompTagged       CompFlags = 1 << 3  // FI_TAGGED
	CompAtomic       CompFlags = 1 << 4  // FI_ATOMIC
	CompCollective   CompFlags = 1 << 6  // FI_COLLECTIVE
	CompRead         CompFlags = 1 << 8  // FI_READ
	CompWrite        CompFlags = 1 << 9  // FI_WRITE
	CompRecv         CompFlags = 1 << 10 // FI_RECV
	CompSend         CompFlags = 1 << 11 // FI_SEND
	CompRemoteRead   CompFlags = 1 << 12 // FI_REMOTE_READ
	CompRemoteWrite  CompFlags = 1 << 13 // FI_REMOTE_WRITE
	CompMultiRecv    CompFlags = 1 << 16 // FI_MULTI_RECV: the buffer of a multi-receive belongs to the caller again
	CompRemoteCQData CompFlags = 1 << 17 // FI_REMOTE_CQ_DATA: CQEntry.Data is valid
	CompMore         CompFlags = 1 << 18 // FI_MORE
	CompClaim        CompFlags = 1 << 59 // FI_CLAIM
)

// Access are the rights to registered memory, in MRAttr.Access: the operations that may use the region (fi_mr(3)).
// String returns fi_tostr's text.
type Access uint64

// The rights.
const (
	AccessCollective  Access = 1 << 6  // FI_COLLECTIVE
	AccessRead        Access = 1 << 8  // FI_READ: local buffer that a read fills
	AccessWrite       Access = 1 << 9  // FI_WRITE: local buffer of a write
	AccessRecv        Access = 1 << 10 // FI_RECV
	AccessSend        Access = 1 << 11 // FI_SEND
	AccessRemoteRead  Access = 1 << 12 // FI_REMOTE_READ: peers may read
	AccessRemoteWrite Access = 1 << 13 // FI_REMOTE_WRITE: peers may write
)

// BindFlags select what a bound queue or counter is for (fi_ep_bind(3), fi_mr_bind(3)). BindTransmit and BindRecv
// also select the direction in Endpoint.Alias, OpFlags and SetOpFlags.
type BindFlags uint64

// The bind flags.
const (
	BindRead                BindFlags = 1 << 8   // FI_READ: counters
	BindWrite               BindFlags = 1 << 9   // FI_WRITE: counters
	BindRecv                BindFlags = 1 << 10  // FI_RECV: queues and counters
	BindSend                BindFlags = 1 << 11  // FI_SEND: counters
	BindTransmit            BindFlags = BindSend // FI_TRANSMIT: queues
	BindRemoteRead          BindFlags = 1 << 12  // FI_REMOTE_READ: counters
	BindRemoteWrite         BindFlags = 1 << 13  // FI_REMOTE_WRITE: counters
	BindSelectiveCompletion BindFlags = 1 << 59  // FI_SELECTIVE_COMPLETION: only operations with OpCompletion have a completion
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
	OrderRAR       Order = 1 << 0  // FI_ORDER_RAR
	OrderRAW       Order = 1 << 1  // FI_ORDER_RAW
	OrderRAS       Order = 1 << 2  // FI_ORDER_RAS
	OrderWAR       Order = 1 << 3  // FI_ORDER_WAR
	OrderWAW       Order = 1 << 4  // FI_ORDER_WAW
	OrderWAS       Order = 1 << 5  // FI_ORDER_WAS
	OrderSAR       Order = 1 << 6  // FI_ORDER_SAR
	OrderSAW       Order = 1 << 7  // FI_ORDER_SAW
	OrderSAS       Order = 1 << 8  // FI_ORDER_SAS
	OrderRMARAR    Order = 1 << 32 // FI_ORDER_RMA_RAR
	OrderRMARAW    Order = 1 << 33 // FI_ORDER_RMA_RAW
	OrderRMAWAR    Order = 1 << 34 // FI_ORDER_RMA_WAR
	OrderRMAWAW    Order = 1 << 35 // FI_ORDER_RMA_WAW
	OrderAtomicRAR Order = 1 << 36 // FI_ORDER_ATOMIC_RAR
	OrderAtomicRAW Order = 1 << 37 // FI_ORDER_ATOMIC_RAW
	OrderAtomicWAR Order = 1 << 38 // FI_ORDER_ATOMIC_WAR
	OrderAtomicWAW Order = 1 << 39 // FI_ORDER_ATOMIC_WAW
)

// MRMode is the set of memory-registration modes (fi_mr(3), "MR mode bits").
type MRMode uint32

const (
	MRModeBasic     MRMode = 1 << 0  // FI_MR_BASIC, the name of API versions before 1.5
	MRModeScalable  MRMode = 1 << 1  // FI_MR_SCALABLE, likewise
	MRModeLocal     MRMode = 1 << 2  // FI_MR_LOCAL
	MRModeRaw       MRMode = 1 << 3  // FI_MR_RAW
	MRModeVirtAddr  MRMode = 1 << 4  // FI_MR_VIRT_ADDR
	MRModeAllocated MRMode = 1 << 5  // FI_MR_ALLOCATED
	MRModeProvKey   MRMode = 1 << 6  // FI_MR_PROV_KEY
	MRModeMMUNotify MRMode = 1 << 7  // FI_MR_MMU_NOTIFY
	MRModeRMAEvent  MRMode = 1 << 8  // FI_MR_RMA_EVENT
	MRModeEndpoint  MRMode = 1 << 9  // FI_MR_ENDPOINT
	MRModeHMem      MRMode = 1 << 10 // FI_MR_HMEM
	MRModeCollect   MRMode = 1 << 11 // FI_MR_COLLECTIVE
	MRModeXPUDesc   MRMode = 1 << 12 // FI_MR_XPU_DESC
)
