package core

import "math"

// EPType is the kind of an endpoint (fi_endpoint(3)).
type EPType uint8

const (
	EPTypeUnspec EPType = iota // FI_EP_UNSPEC
	EPTypeMsg                  // FI_EP_MSG: reliable, connected
	EPTypeDgram                // FI_EP_DGRAM: unreliable datagrams
	EPTypeRDM                  // FI_EP_RDM: reliable datagrams
)

// Threading is the synchronization that a caller promises (fi_domain(3)). The stacks of this module are ThreadSafe.
// They grant ThreadDomain and ThreadCompletion, but take the same locks then
// (docs/decisions/0027-thread-levels.md).
type Threading uint8

const (
	ThreadUnspec     Threading = iota // FI_THREAD_UNSPEC
	ThreadSafe                        // FI_THREAD_SAFE
	ThreadFID                         // FI_THREAD_FID
	ThreadDomain                      // FI_THREAD_DOMAIN
	ThreadCompletion                  // FI_THREAD_COMPLETION
	ThreadEndpoint                    // FI_THREAD_ENDPOINT
)

// Progress says which thread makes progress (fi_domain(3), "control_progress, data_progress").
type Progress uint8

const (
	ProgressUnspec         Progress = iota // FI_PROGRESS_UNSPEC
	ProgressAuto                           // FI_PROGRESS_AUTO
	ProgressManual                         // FI_PROGRESS_MANUAL
	ProgressControlUnified                 // FI_PROGRESS_CONTROL_UNIFIED
)

// ResourceMgmt says whether the provider or the application prevents queue overruns (fi_domain(3)).
type ResourceMgmt uint8

const (
	RMUnspec   ResourceMgmt = iota // FI_RM_UNSPEC
	RMDisabled                     // FI_RM_DISABLED
	RMEnabled                      // FI_RM_ENABLED
)

// AVType is the kind of an address vector (fi_av(3)).
type AVType uint8

const (
	AVUnspec AVType = iota // FI_AV_UNSPEC
	AVMap                  // FI_AV_MAP
	AVTable                // FI_AV_TABLE
)

// WaitObj is the wait object of a queue or counter (fi_cq(3)).
type WaitObj uint8

const (
	WaitNone      WaitObj = iota // FI_WAIT_NONE
	WaitUnspec                   // FI_WAIT_UNSPEC
	WaitSetObj                   // FI_WAIT_SET
	WaitFD                       // FI_WAIT_FD
	WaitMutexCond                // FI_WAIT_MUTEX_COND
	WaitYield                    // FI_WAIT_YIELD
	WaitPollFD                   // FI_WAIT_POLLFD
)

// CQFormat selects the fields of a CQEntry that a completion queue fills in (fi_cq(3)).
type CQFormat uint8

const (
	CQFormatUnspec  CQFormat = iota // FI_CQ_FORMAT_UNSPEC
	CQFormatContext                 // FI_CQ_FORMAT_CONTEXT
	CQFormatMsg                     // FI_CQ_FORMAT_MSG
	CQFormatData                    // FI_CQ_FORMAT_DATA
	CQFormatTagged                  // FI_CQ_FORMAT_TAGGED
)

// AddrFormat is the format of a transport address (fi_getinfo(3)).
type AddrFormat uint32

const (
	FormatUnspec      AddrFormat = iota // FI_FORMAT_UNSPEC
	FormatSockaddr                      // FI_SOCKADDR
	FormatSockaddrIn                    // FI_SOCKADDR_IN
	FormatSockaddrIn6                   // FI_SOCKADDR_IN6
	FormatSockaddrIB                    // FI_SOCKADDR_IB
	FormatPSMX
	FormatGNI
	FormatBGQ
	FormatMLX        // FI_ADDR_MLX
	FormatStr        // FI_ADDR_STR
	FormatPSMX2      // FI_ADDR_PSMX2
	FormatIBUD       // FI_ADDR_IB_UD
	FormatEFA        // FI_ADDR_EFA
	FormatPSMX3      // FI_ADDR_PSMX3
	FormatOPX        // FI_ADDR_OPX
	FormatCXI        // FI_ADDR_CXI
	FormatUCX        // FI_ADDR_UCX
	FormatSockaddrIP // FI_SOCKADDR_IP
)

// Protocol is the wire protocol of an endpoint (fi_endpoint(3)).
type Protocol uint32

const (
	ProtoUnspec  Protocol = 0
	ProtoUDP     Protocol = 5  // FI_PROTO_UDP
	ProtoSockTCP Protocol = 6  // FI_PROTO_SOCK_TCP
	ProtoRXM     Protocol = 11 // FI_PROTO_RXM
	ProtoRXD     Protocol = 12 // FI_PROTO_RXD
	ProtoXNET    Protocol = 25 // FI_PROTO_XNET
)

// Tag formats (fi_endpoint(3), "mem_tag_format").
const (
	TagBits    uint64 = 0
	TagMPI     uint64 = 1
	TagCCL     uint64 = 2
	TagGeneric uint64 = 0xAAAAAAAAAAAAAAAA // FI_TAG_GENERIC
)

// TrafficClass is a traffic class label or a DSCP value (fi_endpoint(3), "tclass").
type TrafficClass uint32

const (
	TCUnspec          TrafficClass = 0     // FI_TC_UNSPEC
	TCDSCP            TrafficClass = 0x100 // a flag: the low byte is a DSCP value
	TCBestEffort      TrafficClass = 0x200 // FI_TC_BEST_EFFORT
	TCLowLatency      TrafficClass = 0x201 // FI_TC_LOW_LATENCY
	TCDedicatedAccess TrafficClass = 0x202 // FI_TC_DEDICATED_ACCESS
	TCBulkData        TrafficClass = 0x203 // FI_TC_BULK_DATA
	TCScavenger       TrafficClass = 0x204 // FI_TC_SCAVENGER
	TCNetworkCtrl     TrafficClass = 0x205 // FI_TC_NETWORK_CTRL
)

// TOS returns the type-of-service byte of IPv4, or the traffic class of IPv6, of packets of this class: a DSCP
// value as given; for labels the values that RFC 4594 and RFC 8622 recommend for such traffic; else 0.
func (c TrafficClass) TOS() int {
	if c&TCDSCP != 0 {
		return int(c&0x3f) << 2
	}
	switch c {
	case TCLowLatency, TCDedicatedAccess:
		return 46 << 2 // expedited forwarding (RFC 3246)
	case TCBulkData:
		return 10 << 2 // AF11 (RFC 2597): RFC 4594 recommends it for high-throughput data
	case TCScavenger:
		return 1 << 2 // lower effort (RFC 8622)
	case TCNetworkCtrl:
		return 48 << 2 // CS6 (RFC 4594, network control)
	}
	return 0
}

// EQEventType is the kind of a control event (fi_eq(3)).
type EQEventType uint32

const (
	EventNotify       EQEventType = iota // FI_NOTIFY
	EventConnReq                         // FI_CONNREQ
	EventConnected                       // FI_CONNECTED
	EventShutdown                        // FI_SHUTDOWN
	EventMRComplete                      // FI_MR_COMPLETE
	EventAVComplete                      // FI_AV_COMPLETE
	EventJoinComplete                    // FI_JOIN_COMPLETE
)

// CntrEvents selects what a counter counts (fi_cntr(3)).
type CntrEvents uint8

const (
	CntrEventsComp  CntrEvents = iota // FI_CNTR_EVENTS_COMP
	CntrEventsBytes                   // FI_CNTR_EVENTS_BYTES
)

// EPOpt is an endpoint option of level FI_OPT_ENDPOINT (fi_endpoint(3), fi_setopt).
type EPOpt int

const (
	OptMinMultiRecv          EPOpt = iota // FI_OPT_MIN_MULTI_RECV
	OptCMDataSize                         // FI_OPT_CM_DATA_SIZE
	OptBufferedMin                        // FI_OPT_BUFFERED_MIN
	OptBufferedLimit                      // FI_OPT_BUFFERED_LIMIT
	OptSendBufSize                        // FI_OPT_SEND_BUF_SIZE
	OptRecvBufSize                        // FI_OPT_RECV_BUF_SIZE
	OptTxSize                             // FI_OPT_TX_SIZE
	OptRxSize                             // FI_OPT_RX_SIZE
	OptHMemP2P                            // FI_OPT_FI_HMEM_P2P
	OptXPUTrigger                         // FI_OPT_XPU_TRIGGER
	OptCUDAAPIPermitted                   // FI_OPT_CUDA_API_PERMITTED
	OptSharedMemoryPermitted              // FI_OPT_SHARED_MEMORY_PERMITTED
	OptMaxMsgSize                         // FI_OPT_MAX_MSG_SIZE
	OptMaxTaggedSize                      // FI_OPT_MAX_TAGGED_SIZE
	OptMaxRMASize                         // FI_OPT_MAX_RMA_SIZE
	OptMaxAtomicSize                      // FI_OPT_MAX_ATOMIC_SIZE
	OptInjectMsgSize                      // FI_OPT_INJECT_MSG_SIZE
	OptInjectTaggedSize                   // FI_OPT_INJECT_TAGGED_SIZE
	OptInjectRMASize                      // FI_OPT_INJECT_RMA_SIZE
	OptInjectAtomicSize                   // FI_OPT_INJECT_ATOMIC_SIZE
	OptFirewallAddr                       // FI_OPT_FIREWALL_ADDR
)

// OptDatapath selects how the datagrams of an endpoint of the udp provider reach the network: a Datapath. It is
// this module's own option, with the bit of such options (FI_PROV_SPECIFIC). It may be set at any time. Datagrams
// under way may be lost then; reliable layers retransmit them. DatapathXDP is an error, and changes nothing, if
// AF_XDP is not available. GetOpt returns what is in use: DatapathSockets or DatapathXDP. Endpoints of other
// providers return ErrNoProtoOpt.
const OptDatapath EPOpt = math.MinInt32 | 1

// OptLinger is the longest time, in milliseconds, that Close and Shutdown of an endpoint wait until peers have
// received what was sent. With 0, data that cannot be transmitted at once is lost. It is this module's own option.
// The default is the provider's variable: FI_TCP_LINGER, FI_OFI_RXD_LINGER. Datagram endpoints (FI_EP_DGRAM) have
// nothing to wait for and return ErrNoProtoOpt.
const OptLinger EPOpt = math.MinInt32 | 2

// Datapath is a value of OptDatapath.
type Datapath int

// The values. FI_UDP_LINK has the value of a new endpoint.
const (
	DatapathSockets Datapath = iota + 1
	DatapathXDP              // AF_XDP besides sockets; its datagrams bypass the kernel's network stack
	DatapathAuto             // DatapathXDP if it is available, else DatapathSockets
)
