package strict

import (
	"slices"

	"gofabric/core"
)

// Profile is what a provider is like, where it differs from the stacks of this module: one per provider, with one Kind per kind of endpoint.
type Profile struct {
	Name  string
	Kinds []Kind
}

// Kind is what one kind of endpoint of a provider offers and demands. A limit of 0 leaves that of the stack below, none means that there is none of it.
type Kind struct {
	Type core.EPType

	Caps   core.Caps   // primary and secondary capabilities, directions included
	Mode   core.Mode   // demanded of the application
	CQData core.Mode   // demanded if it wants remote CQ data
	MRMode core.MRMode // demanded, beside the old names that the provider takes
	Legacy core.MRMode // MRModeBasic and MRModeScalable, as far as the provider takes them
	Choice core.MRMode // honoured where hints name them, not demanded

	Prefix       int // bytes in front of messages, with ModeMsgPrefix
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
	CQSize       int // entries of a queue whose size the application leaves open
	CQCnt        int
	EPCnt        int
	CntrCnt      int
	MRCnt        int
	Threading    core.Threading
	Manual       bool           // progress
	RMDisabled   bool           // queues overrun
	AVType       core.AVType    // of all vectors, whatever is asked for (efa_user_info.c, efa_av.c)
	WaitObjs     []core.WaitObj // of completion queues; nil for all
	Lacks        Lack
	WhyLocal     string // what becomes of an operation whose buffer is not registered
	WhyKey       string // what becomes of an access with a bad key
	WhyContext   string // what the provider keeps in FI_CONTEXT
	ConsumesRecv bool   // remote CQ data of RMA takes a posted receive (FI_RX_CQ_DATA)
}

// none as a limit is 0 as a result.
const none = -1

// Lack says which calls a provider does not have though its stack below does.
type Lack uint16

// Calls that providers lack.
const (
	LacksCancel Lack = 1 << iota
	LacksAlias
	LacksReadFrom
	LacksMRCounters
)

// profiles are all there are.
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

// kind returns what the profile says of a kind of endpoint, nil if the provider has none.
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
