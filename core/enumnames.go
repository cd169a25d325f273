package core

import "strings"

// This file has the names of enumerations as fi_tostr(3) prints them. A value without a name is "Unknown".

func enumString[T ~uint8 | ~uint16 | ~uint32 | ~int](v T, names []flagName) string {
	for _, n := range names {
		if n.bit == uint64(v) && n.name != "" {
			return n.name
		}
	}
	return "Unknown"
}

var epTypeNames = []flagName{
	{uint64(EPTypeUnspec), "FI_EP_UNSPEC"}, {uint64(EPTypeMsg), "FI_EP_MSG"}, {uint64(EPTypeDgram), "FI_EP_DGRAM"}, {uint64(EPTypeRDM), "FI_EP_RDM"},
}

var threadingNames = []flagName{
	{uint64(ThreadUnspec), "FI_THREAD_UNSPEC"}, {uint64(ThreadSafe), "FI_THREAD_SAFE"}, {uint64(ThreadDomain), "FI_THREAD_DOMAIN"},
	{uint64(ThreadCompletion), "FI_THREAD_COMPLETION"}, {uint64(ThreadFID), "FI_THREAD_FID"}, {uint64(ThreadEndpoint), "FI_THREAD_ENDPOINT"},
}

var progressNames = []flagName{
	{uint64(ProgressUnspec), "FI_PROGRESS_UNSPEC"}, {uint64(ProgressAuto), "FI_PROGRESS_AUTO"}, {uint64(ProgressManual), "FI_PROGRESS_MANUAL"},
	{uint64(ProgressControlUnified), "FI_PROGRESS_CONTROL_UNIFIED"},
}

var rmNames = []flagName{
	{uint64(RMUnspec), "FI_RM_UNSPEC"}, {uint64(RMDisabled), "FI_RM_DISABLED"}, {uint64(RMEnabled), "FI_RM_ENABLED"},
}

var avTypeNames = []flagName{{uint64(AVUnspec), "FI_AV_UNSPEC"}, {uint64(AVMap), "FI_AV_MAP"}, {uint64(AVTable), "FI_AV_TABLE"}}

var waitObjNames = []flagName{
	{uint64(WaitNone), "FI_WAIT_NONE"}, {uint64(WaitUnspec), "FI_WAIT_UNSPEC"}, {uint64(WaitSetObj), "FI_WAIT_SET"}, {uint64(WaitFD), "FI_WAIT_FD"},
	{uint64(WaitMutexCond), "FI_WAIT_MUTEX_COND"}, {uint64(WaitYield), "FI_WAIT_YIELD"}, {uint64(WaitPollFD), "FI_WAIT_POLLFD"},
}

var cqFormatNames = []flagName{
	{uint64(CQFormatUnspec), "FI_CQ_FORMAT_UNSPEC"}, {uint64(CQFormatContext), "FI_CQ_FORMAT_CONTEXT"}, {uint64(CQFormatMsg), "FI_CQ_FORMAT_MSG"},
	{uint64(CQFormatData), "FI_CQ_FORMAT_DATA"}, {uint64(CQFormatTagged), "FI_CQ_FORMAT_TAGGED"},
}

var addrFormatNames = []flagName{
	{uint64(FormatUnspec), "FI_FORMAT_UNSPEC"}, {uint64(FormatSockaddr), "FI_SOCKADDR"}, {uint64(FormatSockaddrIP), "FI_SOCKADDR_IP"},
	{uint64(FormatSockaddrIn), "FI_SOCKADDR_IN"}, {uint64(FormatSockaddrIn6), "FI_SOCKADDR_IN6"}, {uint64(FormatSockaddrIB), "FI_SOCKADDR_IB"},
	{uint64(FormatPSMX2), "FI_ADDR_PSMX2"}, {uint64(FormatMLX), "FI_ADDR_MLX"}, {uint64(FormatUCX), "FI_ADDR_UCX"}, {uint64(FormatStr), "FI_ADDR_STR"},
	{uint64(FormatIBUD), "FI_ADDR_IB_UD"}, {uint64(FormatEFA), "FI_ADDR_EFA"}, {uint64(FormatPSMX3), "FI_ADDR_PSMX3"}, {uint64(FormatOPX), "FI_ADDR_OPX"},
	{uint64(FormatCXI), "FI_ADDR_CXI"},
}

var protocolNames = []flagName{
	{0, "FI_PROTO_UNSPEC"}, {1, "FI_PROTO_RDMA_CM_IB_RC"}, {2, "FI_PROTO_IWARP"}, {3, "FI_PROTO_IB_UD"}, {uint64(ProtoUDP), "FI_PROTO_UDP"},
	{uint64(ProtoSockTCP), "FI_PROTO_SOCK_TCP"}, {8, "FI_PROTO_IWARP_RDM"}, {9, "FI_PROTO_IB_RDM"}, {uint64(ProtoRXM), "FI_PROTO_RXM"},
	{uint64(ProtoRXD), "FI_PROTO_RXD"}, {13, "FI_PROTO_MLX"}, {14, "FI_PROTO_NETWORKDIRECT"}, {15, "FI_PROTO_PSMX2"}, {16, "FI_PROTO_SHM"},
	{19, "FI_PROTO_RDMA_CM_IB_XRC"}, {20, "FI_PROTO_EFA"}, {21, "FI_PROTO_PSMX3"}, {22, "FI_PROTO_RXM_TCP"}, {23, "FI_PROTO_OPX"},
	{24, "FI_PROTO_CXI"}, {uint64(ProtoXNET), "FI_PROTO_XNET"}, {27, "FI_PROTO_UCX"}, {28, "FI_PROTO_SM2"}, {29, "FI_PROTO_CXI_RNR"},
	{30, "FI_PROTO_LPP"}, {31, "FI_PROTO_LNX"},
}

var eventNames = []flagName{
	{uint64(EventNotify), "FI_NOTIFY"}, {uint64(EventConnReq), "FI_CONNREQ"}, {uint64(EventConnected), "FI_CONNECTED"},
	{uint64(EventShutdown), "FI_SHUTDOWN"}, {uint64(EventMRComplete), "FI_MR_COMPLETE"}, {uint64(EventAVComplete), "FI_AV_COMPLETE"},
	{uint64(EventJoinComplete), "FI_JOIN_COMPLETE"},
}

var cntrEventNames = []flagName{{uint64(CntrEventsComp), "FI_CNTR_EVENTS_COMP"}, {uint64(CntrEventsBytes), "FI_CNTR_EVENTS_BYTES"}}

var datatypeNames = []flagName{
	{uint64(Int8), "FI_INT8"}, {uint64(Uint8), "FI_UINT8"}, {uint64(Int16), "FI_INT16"}, {uint64(Uint16), "FI_UINT16"}, {uint64(Int32), "FI_INT32"},
	{uint64(Uint32), "FI_UINT32"}, {uint64(Int64), "FI_INT64"}, {uint64(Uint64), "FI_UINT64"}, {uint64(Int128), "FI_INT128"},
	{uint64(Uint128), "FI_UINT128"}, {uint64(Float), "FI_FLOAT"}, {uint64(Double), "FI_DOUBLE"}, {uint64(FloatComplex), "FI_FLOAT_COMPLEX"},
	{uint64(DoubleComplex), "FI_DOUBLE_COMPLEX"}, {uint64(LongDouble), "FI_LONG_DOUBLE"}, {uint64(LongDoubleComplex), "FI_LONG_DOUBLE_COMPLEX"},
	{uint64(Float16), "FI_FLOAT16"}, {uint64(BFloat16), "FI_BFLOAT16"}, {uint64(Float8E4M3), "FI_FLOAT8_E4M3"}, {uint64(Float8E5M2), "FI_FLOAT8_E5M2"},
	{uint64(Void), "FI_VOID"},
}

var atomicOpNames = []flagName{
	{uint64(AtomicMin), "FI_MIN"}, {uint64(AtomicMax), "FI_MAX"}, {uint64(AtomicSum), "FI_SUM"}, {uint64(AtomicProd), "FI_PROD"},
	{uint64(AtomicLOr), "FI_LOR"}, {uint64(AtomicLAnd), "FI_LAND"}, {uint64(AtomicBOr), "FI_BOR"}, {uint64(AtomicBAnd), "FI_BAND"},
	{uint64(AtomicLXor), "FI_LXOR"}, {uint64(AtomicBXor), "FI_BXOR"}, {uint64(AtomicRead), "FI_ATOMIC_READ"}, {uint64(AtomicWrite), "FI_ATOMIC_WRITE"},
	{uint64(AtomicCSwap), "FI_CSWAP"}, {uint64(AtomicCSwapNE), "FI_CSWAP_NE"}, {uint64(AtomicCSwapLE), "FI_CSWAP_LE"},
	{uint64(AtomicCSwapLT), "FI_CSWAP_LT"}, {uint64(AtomicCSwapGE), "FI_CSWAP_GE"}, {uint64(AtomicCSwapGT), "FI_CSWAP_GT"},
	{uint64(AtomicMSwap), "FI_MSWAP"}, {uint64(AtomicDiff), "FI_DIFF"}, {uint64(AtomicNoop), "FI_NOOP"},
}

func (t EPType) String() string       { return enumString(t, epTypeNames) }
func (t Threading) String() string    { return enumString(t, threadingNames) }
func (p Progress) String() string     { return enumString(p, progressNames) }
func (r ResourceMgmt) String() string { return enumString(r, rmNames) }
func (t AVType) String() string       { return enumString(t, avTypeNames) }
func (w WaitObj) String() string      { return enumString(w, waitObjNames) }
func (f CQFormat) String() string     { return enumString(f, cqFormatNames) }
func (f AddrFormat) String() string   { return enumString(f, addrFormatNames) }
func (p Protocol) String() string     { return enumString(p, protocolNames) }
func (t EQEventType) String() string  { return enumString(t, eventNames) }
func (e CntrEvents) String() string   { return enumString(e, cntrEventNames) }
func (d Datatype) String() string     { return enumString(d, datatypeNames) }
func (o AtomicOp) String() string     { return enumString(o, atomicOpNames) }

// ParseEPType reads an endpoint type as fi_info -t takes it: FI_EP_RDM, or rdm for short.
func ParseEPType(s string) (EPType, error) {
	for _, n := range epTypeNames {
		if lookupShort(s, n.name, "FI_EP_") {
			return EPType(n.bit), nil
		}
	}
	_, err := lookupName("endpoint type", s, epTypeNames)
	return 0, err
}

// ParseAddrFormat reads an address format as fi_info -a and FI_ADDR_FORMAT take it: FI_SOCKADDR_IN.
func ParseAddrFormat(s string) (AddrFormat, error) {
	v, err := lookupName("address format", s, addrFormatNames)
	return AddrFormat(v), err
}

// lookupShort reports whether s is name, with or without its prefix, in any case.
func lookupShort(s, name, prefix string) bool {
	return strings.EqualFold(s, name) || strings.EqualFold(prefix+s, name)
}
