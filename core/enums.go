package core

import "math"

// EPType is the kind of an endpoint (fi_endpoint(3)).
type EPType uint8

const (
	EPTypeUnspec EPType = iota
	EPTypeMsg           // FI_EP_MSG: reliable, connected
	EPTypeDgram         // FI_EP_DGRAM: unreliable datagrams
	EPTypeRDM           // FI_EP_RDM: reliable datagrams
)

// Threading is the synchronisation that a caller promises (fi_domain(3)). The stacks of this module are ThreadSafe and grant what is asked for, but save nothing
// by it: ThreadDomain and ThreadCompletion take the same locks (docs/decisions/0027-thread-levels.md).
type Threading uint8

const (
	ThreadUnspec Threading = iota
	ThreadSafe
	ThreadFID
	ThreadDomain
	ThreadCompletion
	ThreadEndpoint
)

// Progress says who advances operations (fi_domain(3)).
type Progress uint8

const (
	ProgressUnspec Progress = iota
	ProgressAuto
	ProgressManual
	ProgressControlUnified
)

// ResourceMgmt says who guards against queue overruns (fi_domain(3)).
type ResourceMgmt uint8

const (
	RMUnspec ResourceMgmt = iota
	RMDisabled
	RMEnabled
)

// AVType is the kind of an address vector (fi_av(3)).
type AVType uint8

const (
	AVUnspec AVType = iota
	AVMap
	AVTable
)

// WaitObj is the wait object of a queue or counter (fi_cq(3)).
type WaitObj uint8

const (
	WaitNone WaitObj = iota
	WaitUnspec
	WaitSetObj
	WaitFD
	WaitMutexCond
	WaitYield
	WaitPollFD
)

// CQFormat says which fields of a CQEntry a completion queue fills in (fi_cq(3)).
type CQFormat uint8

const (
	CQFormatUnspec CQFormat = iota
	CQFormatContext
	CQFormatMsg
	CQFormatData
	CQFormatTagged
)

// AddrFormat is the format of a transport address (fi_getinfo(3)).
type AddrFormat uint32

const (
	FormatUnspec AddrFormat = iota
	FormatSockaddr
	FormatSockaddrIn
	FormatSockaddrIn6
	FormatSockaddrIB
	FormatPSMX
	FormatGNI
	FormatBGQ
	FormatMLX
	FormatStr // FI_ADDR_STR
	FormatPSMX2
	FormatIBUD
	FormatEFA
	FormatPSMX3
	FormatOPX
	FormatCXI
	FormatUCX
	FormatSockaddrIP
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
	TCUnspec          TrafficClass = 0
	TCDSCP            TrafficClass = 0x100 // a flag: the low byte is a DSCP value
	TCBestEffort      TrafficClass = 0x200
	TCLowLatency      TrafficClass = 0x201
	TCDedicatedAccess TrafficClass = 0x202
	TCBulkData        TrafficClass = 0x203
	TCScavenger       TrafficClass = 0x204
	TCNetworkCtrl     TrafficClass = 0x205
)

// TOS returns the type-of-service byte of IPv4, or the traffic class of IPv6, that packets of this class carry: a DSCP value as given, labels as RFC 4594 and
// RFC 8622 map such traffic; 0 for what has none.
func (c TrafficClass) TOS() int {
	if c&TCDSCP != 0 {
		return int(c&0x3f) << 2
	}
	switch c {
	case TCLowLatency, TCDedicatedAccess:
		return 46 << 2 // expedited forwarding
	case TCBulkData:
		return 10 << 2 // AF11
	case TCScavenger:
		return 1 << 2 // lower effort
	case TCNetworkCtrl:
		return 48 << 2 // CS6
	}
	return 0
}

// EQEventType is the kind of a control event (fi_eq(3)).
type EQEventType uint32

const (
	EventNotify EQEventType = iota
	EventConnReq
	EventConnected
	EventShutdown
	EventMRComplete
	EventAVComplete
	EventJoinComplete
)

// CntrEvents says what a counter counts (fi_cntr(3)).
type CntrEvents uint8

const (
	CntrEventsComp CntrEvents = iota
	CntrEventsBytes
)

// EPOpt is an endpoint option of level FI_OPT_ENDPOINT (fi_endpoint(3), fi_setopt).
type EPOpt int

const (
	OptMinMultiRecv EPOpt = iota
	OptCMDataSize
	OptBufferedMin
	OptBufferedLimit
	OptSendBufSize
	OptRecvBufSize
	OptTxSize
	OptRxSize
	OptHMemP2P
	OptXPUTrigger
	OptCUDAAPIPermitted
	OptSharedMemoryPermitted
	OptMaxMsgSize
	OptMaxTaggedSize
	OptMaxRMASize
	OptMaxAtomicSize
	OptInjectMsgSize
	OptInjectTaggedSize
	OptInjectRMASize
	OptInjectAtomicSize
	OptFirewallAddr
)

// OptDatagramLink is how the datagrams of an endpoint on the udp provider pass to and from the system: a DatagramLink. It is this module's own, and has the bit of
// such options (FI_PROV_SPECIFIC). It may be set at any time; datagrams under way may be lost, which layers that are reliable make good. Setting it to
// LinkXDP fails, and nothing changes, if that cannot be had. GetOpt says what is in use: LinkSockets or LinkXDP. Endpoints on other providers answer
// ErrNoProtoOpt.
const OptDatagramLink EPOpt = math.MinInt32 | 1

// OptLinger is how long Close and Shutdown of an endpoint wait, at most, until peers have what was sent, milliseconds; 0: what cannot be transmitted at once is
// lost. It is this module's own. The default is the provider's variable: FI_TCP_LINGER, FI_OFI_RXD_LINGER. Datagrams (FI_EP_DGRAM) have nothing to wait for and
// answer ErrNoProtoOpt.
const OptLinger EPOpt = math.MinInt32 | 2

// DatagramLink is a value of OptDatagramLink.
type DatagramLink int

// The values. A new endpoint has what FI_UDP_LINK says.
const (
	LinkSockets DatagramLink = iota + 1
	LinkXDP                  // AF_XDP beside sockets, past the system's stack
	LinkAuto                 // LinkXDP where it can be had, else LinkSockets
)
