package strict

import (
	"slices"

	"gofabric/core"
)

// Profile describes where a provider differs from the stacks of this module. It has one Kind for each kind of
// endpoint.
type Profile struct {
	Name  string
	Kinds []Kind
}

// Kind has the offers and demands of one kind of endpoint. A limit of 0 means the limit of the stack below. none
// means that the provider does not have the feature.
type Kind struct {
	Type core.EPType

	Caps   core.Caps   // primary and secondary capabilities, directions included
	Mode   core.Mode   // demands on the application
	CQData core.Mode   // demands on an application that uses remote CQ data
	MRMode core.MRMode // demands, besides the old names that the provider takes
	Legacy core.MRMode // MRModeBasic and MRModeScalable, if the provider takes them
	Choice core.MRMode // in results if hints have them, not demanded

	Prefix       int // bytes before messages, with ModeMsgPrefix
	Inject       int // bytes
	MaxMsg       int // bytes
	TxSize       int // operations
	RxSize       int
	TxIOV        int
	RxIOV        int
	RMAIOV       int
	TxOrder      core.Order
	OrderRAW     int // bytes
	OrderWAR     int
	OrderWAW     int
	TagBits      int
	CQDataSize   int // bytes
	KeySize      int // bytes of a memory key
	MaxErrData   int
	CQSize       int // entries of a queue without a size of the application
	CQCnt        int
	EPCnt        int
	CntrCnt      int
	MRCnt        int
	Threading    core.Threading
	Manual       bool           // manual progress
	RMDisabled   bool           // queues overrun
	AVType       core.AVType    // of all vectors, for any attribute (native's efa_user_info.c, efa_av.c)
	WaitObjs     []core.WaitObj // of completion queues; nil for all
	Lacks        Lack
	WhyLocal     string // effect of an operation whose buffer is not registered
	WhyKey       string // effect of an access with a bad key
	WhyContext   string // what the provider keeps in FI_CONTEXT
	ConsumesRecv bool   // remote CQ data of RMA consumes a posted receive (FI_RX_CQ_DATA)
}

// none as a limit is 0 as a result.
const none = -1

// Lack has the calls that the stack below has, but the provider does not.
type Lack uint16

// Calls that providers lack.
const (
	LacksCancel Lack = 1 << iota
	LacksAlias
	LacksReadFrom
	LacksMRCounters
)

// profiles has all profiles.
var profiles = []*Profile{&verbs, &efa, &efaDirect, &cxi, &psm3, &opx, &all, &loose}

// lookup returns the profile of a name, nil if there is none.
func lookup(name string) *Profile {
	for _, p := range profiles {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// names lists the profiles.
func names() []string {
	var list []string
	for _, p := range profiles {
		list = append(list, p.Name)
	}
	return list
}

// kind returns the profile's Kind for a kind of endpoint, nil if the provider has none.
func (p *Profile) kind(t core.EPType) *Kind {
	i := slices.IndexFunc(p.Kinds, func(k Kind) bool { return k.Type == t })
	if i < 0 {
		return nil
	}
	return &p.Kinds[i]
}

const (
	msgCaps = core.CapMsg | core.CapSend | core.CapRecv
	rmaCaps = core.CapRMA | core.CapRead | core.CapWrite | core.CapRemoteRead | core.CapRemoteWrite
	comm    = core.CapLocalComm | core.CapRemoteComm

	rarSet = core.OrderRAR | core.OrderRMARAR | core.OrderAtomicRAR
	rawSet = core.OrderRAW | core.OrderRMARAW | core.OrderAtomicRAW
	warSet = core.OrderWAR | core.OrderRMAWAR | core.OrderAtomicWAR
	wawSet = core.OrderWAW | core.OrderRMAWAW | core.OrderAtomicWAW

	atomicOrder = core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAR | core.OrderAtomicWAW

	basicMap = core.MRModeVirtAddr | core.MRModeAllocated | core.MRModeProvKey
)
