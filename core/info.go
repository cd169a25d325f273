package core

import "math"

// FIAddr names a peer: an index into an AddressVector (fi_addr_t, fi_av(3)).
type FIAddr uint64

const (
	AddrUnspec   FIAddr = math.MaxUint64 // FI_ADDR_UNSPEC: any source; also FI_ADDR_NOTAVAIL
	AddrNotAvail FIAddr = math.MaxUint64 // FI_ADDR_NOTAVAIL
)

// KeyNotAvail is FI_KEY_NOTAVAIL.
const KeyNotAvail uint64 = math.MaxUint64

// SharedContext as a number of contexts asks for shared transmit or receive contexts (FI_SHARED_CONTEXT).
const SharedContext = math.MaxInt

// AVAuthKey as DomainAttr.AuthKeySize means that authorization keys are in the address vectors that endpoints are
// bound to (FI_AV_AUTH_KEY, fi_domain(3)).
const AVAuthKey = math.MaxInt

// MaxAuthKey is the length of the longest authorization key, in bytes. A key must be hard to guess: use 16 random
// bytes or more.
const MaxAuthKey = 64

// MaxSize stands for SIZE_MAX in size attributes.
const MaxSize = math.MaxInt

// Version is an API version, major<<16 | minor (FI_VERSION, fabric.h).
type Version uint32

// V returns a Version (FI_VERSION(major, minor)).
func V(major, minor int) Version { return Version(major<<16 | minor&0xffff) }

// Major returns the major number (FI_MAJOR).
func (v Version) Major() int { return int(v >> 16) }

// Minor returns the minor number (FI_MINOR).
func (v Version) Minor() int { return int(v & 0xffff) }

// LibraryVersion is the API version that this module implements (fi_version(3)).
var LibraryVersion = V(2, 6)

// ProviderVersion is the version of this module's providers: that of native's providers of the same API
// (OFI_VERSION_DEF_PROV), so that version checks of applications work.
var ProviderVersion = V(206, 0)

// Info describes one way to communicate: the result of GetInfo, and the hints given to it (struct fi_info,
// fi_getinfo(3)). The attribute pointers are never nil in a result; in hints, nil means "anything".
type Info struct {
	Caps       Caps
	Mode       Mode
	AddrFormat AddrFormat
	SrcAddr    Addr
	DestAddr   Addr
	Handle     Handle // an endpoint that is opened with this Info takes it over: the connection request of an EventConnReq
	Tx         *TxAttr
	Rx         *RxAttr
	EP         *EPAttr
	Domain     *DomainAttr
	Fabric     *FabricAttr
	NIC        *NIC
	below      *Info
}

// Below returns the Info of the provider below a layer, nil for a core provider's Info. The caller must not change
// it.
func (i *Info) Below() *Info { return i.below }

// Lower returns a copy of Below for the endpoint below a layer's. It has the source address and the traffic class
// of i, which the application may have changed since GetInfo.
func (i *Info) Lower() *Info {
	l := i.below.Dup()
	l.SrcAddr = i.SrcAddr
	if l.Tx != nil && i.Tx != nil {
		l.Tx.TClass = i.Tx.TClass
	}
	return l
}

// Handle is an object in an Info (fi_info.handle): a pending connection request or a passive endpoint.
type Handle any

// TxAttr is struct fi_tx_attr (fi_endpoint(3)). Sizes are bytes, Size counts operations.
type TxAttr struct {
	Caps        Caps
	Mode        Mode
	OpFlags     OpFlags
	MsgOrder    Order
	CompOrder   Order
	InjectSize  int
	Size        int
	IOVLimit    int
	RMAIOVLimit int
	TClass      TrafficClass
}

// RxAttr is struct fi_rx_attr (fi_endpoint(3)).
type RxAttr struct {
	Caps              Caps
	Mode              Mode
	OpFlags           OpFlags
	MsgOrder          Order
	CompOrder         Order
	TotalBufferedRecv int
	Size              int
	IOVLimit          int
}

// EPAttr is struct fi_ep_attr (fi_endpoint(3)).
type EPAttr struct {
	Type            EPType
	Protocol        Protocol
	ProtocolVersion uint32
	MaxMsgSize      int
	MsgPrefixSize   int
	MaxOrderRAWSize int
	MaxOrderWARSize int
	MaxOrderWAWSize int
	MemTagFormat    uint64
	TxCtxCnt        int
	RxCtxCnt        int
	AuthKey         []byte // peers need it to communicate with the endpoint; nil for the domain's
	AuthKeySize     int    // as in DomainAttr; 0 in a domain with AVAuthKey
}

// DomainAttr is struct fi_domain_attr (fi_domain(3)).
type DomainAttr struct {
	Domain          *Domain // an open domain to reuse, or nil
	Name            string
	Threading       Threading
	ControlProgress Progress
	DataProgress    Progress
	ResourceMgmt    ResourceMgmt
	AVType          AVType
	MRMode          MRMode
	MRKeySize       int
	CQDataSize      int
	CQCnt           int
	EPCnt           int
	TxCtxCnt        int
	RxCtxCnt        int
	MaxEPTxCtx      int
	MaxEPRxCtx      int
	MaxEPStxCtx     int
	MaxEPSrxCtx     int
	CntrCnt         int
	MRIOVLimit      int
	Caps            Caps
	Mode            Mode
	AuthKey         []byte // the default of endpoints and regions; nil for no key
	AuthKeySize     int    // in a result: longest key, in bytes, 0 if there are no keys, or AVAuthKey: the keys are in the vectors
	MaxErrData      int
	MRCnt           int
	TClass          TrafficClass
	MaxEPAuthKey    int // largest number of keys of an endpoint in a domain with AVAuthKey
	MaxGroupID      uint32
	MaxCntrValue    uint64
	MaxErrCntrValue uint64
}

// FabricAttr is struct fi_fabric_attr (fi_fabric(3)).
type FabricAttr struct {
	Fabric      *Fabric // an open fabric to reuse, or nil
	Name        string
	ProvName    string
	ProvVersion Version
	APIVersion  Version
}

// NIC describes the network interface under an Info (struct fid_nic, fi_nic(3)).
type NIC struct {
	Device DeviceAttr
	Bus    BusAttr
	Link   LinkAttr
}

// DeviceAttr is struct fi_device_attr.
type DeviceAttr struct{ Name, DeviceID, DeviceVersion, VendorID, Driver, Firmware string }

// BusAttr is struct fi_bus_attr. PCI is valid if IsPCI is set.
type BusAttr struct {
	IsPCI                      bool
	PCIDomain                  uint16
	PCIBus, PCIDevice, PCIFunc uint8
}

// LinkState is enum fi_link_state.
type LinkState uint8

const (
	LinkUnknown LinkState = iota // FI_LINK_UNKNOWN
	LinkDown                     // FI_LINK_DOWN
	LinkUp                       // FI_LINK_UP
)

// LinkAttr is struct fi_link_attr. MTU is in bytes, Speed in bits per second.
type LinkAttr struct {
	Address     string
	MTU         int
	Speed       uint64
	State       LinkState
	NetworkType string
}

// NewHints returns an Info with all attributes present and zero, ready to be filled in as hints (fi_allocinfo(3)).
func NewHints() *Info {
	return &Info{Tx: &TxAttr{}, Rx: &RxAttr{}, EP: &EPAttr{}, Domain: &DomainAttr{}, Fabric: &FabricAttr{}}
}

// Dup returns a deep copy of i (fi_dupinfo(3)). The copy refers to the same open objects. Dup of nil is NewHints.
func (i *Info) Dup() *Info {
	if i == nil {
		return NewHints()
	}
	d := *i
	d.Tx, d.Rx, d.EP, d.Domain, d.Fabric, d.NIC = clone(i.Tx), clone(i.Rx), clone(i.EP), clone(i.Domain), clone(i.Fabric), clone(i.NIC)
	if d.EP != nil {
		d.EP.AuthKey = append([]byte(nil), d.EP.AuthKey...)
	}
	if d.Domain != nil {
		d.Domain.AuthKey = append([]byte(nil), d.Domain.AuthKey...)
	}
	return &d
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
