package conform

// Capabilities (fi_getinfo(3)). GetInfo and the calls refuse what a stack does not have.

import (
	"testing"

	"gofabric/core"
)

// allCaps returns CapMsg, and those of CapTagged and CapRMA that the stack has.
func allCaps(t *testing.T, st Stack) core.Caps {
	caps := core.CapMsg
	for _, c := range []core.Caps{core.CapRMA, core.CapTagged} {
		if st.Offers(t, c) {
			caps |= c
		}
	}
	return caps
}

// atomicsRefused checks that stacks without atomics refuse them.
func atomicsRefused(t *testing.T, st Stack) {
	if st.Offers(t, core.CapAtomic) {
		return
	}
	p := Open(t, st)
	no := []core.Errno{core.ErrOpNotSupp, core.ErrNoSys}
	ep := p.A.EP
	refuse(t, "atomic", ep.Atomic(&core.AtomicArgs{}, 0), no...)
	refuse(t, "fetch_atomic", ep.FetchAtomic(&core.AtomicArgs{}, nil, nil, 0), no...)
	refuse(t, "compare_atomic", ep.CompareAtomic(&core.AtomicArgs{}, nil, nil, nil, nil, 0), no...)
	refuse(t, "inject_atomic", ep.InjectAtomic(nil, 0, 0, 0, core.Uint64, core.AtomicSum), no...)
	refuse(t, "atomicvalid", second(ep.AtomicValid(core.Uint64, core.AtomicSum)), no...)
	refuse(t, "query_atomic", second(p.A.Domain.QueryAtomic(core.Uint64, core.AtomicSum, 0)), no...)
}

// capsRefused requests every capability. Stacks must open with those that they offer, and refuse others with
// ErrNoData.
func capsRefused(t *testing.T, st Stack) {
	for bit := range 64 {
		c := core.Caps(1) << bit
		switch c {
		case core.CapMsg, core.CapRMA, core.CapTagged, core.CapAtomic, core.CapMulticast, core.CapCollective,
			core.CapMultiRecv, core.CapTrigger,
			core.CapFence, core.CapAVUserID, core.CapPeer, core.CapXPU, core.CapTaggedDirectedRecv,
			core.CapTaggedMultiRecv, core.CapHMem,
			core.CapExactDirectedRecv, core.CapRMAPMem, core.CapSourceErr, core.CapLocalComm, core.CapRemoteComm,
			core.CapSharedAV, core.CapRMAEvent,
			core.CapSource, core.CapNamedRxCtx, core.CapDirectedRecv:
			st.Offers(t, c)
		}
	}
}
