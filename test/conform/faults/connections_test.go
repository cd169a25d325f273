package faults

// The suite over connections that are slow, uneven, and split at any byte. They are not reset, because the suite does
// not expect that.

import (
	"fmt"
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/need"
)

// uneven delays random packets, and splits sends and receives at random bytes.
func uneven(t *testing.T, st conform.Stack) conform.Stack {
	st.Inserts = true
	return conform.Over(t, st, map[string]string{"FI_FAULT_SEED": fmt.Sprint(*seed),
		"FI_FAULT_LOSS": "0.05%", "FI_FAULT_REORDER": "0.5%",
		"FI_FAULT_CORRUPT": "0.05%", "FI_FAULT_DUP": "1%", "FI_FAULT_CUT": "20%", "FI_FAULT_JITTER": "100us"})
}

func TestTCPMsg(t *testing.T) {
	conform.RunParallel(t, uneven(t,
		conform.Stack{Name: "tcp-fault-msg", Provider: "tcp;fault", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}))
}

func TestTCPMsgSRX(t *testing.T) {
	need.Asked(t, "the other stacks run this stack's code, too")
	conform.RunParallel(t, uneven(t,
		conform.Stack{Name: "tcp-fault-msg-srx", Provider: "tcp;fault", EPType: core.EPTypeMsg,
			SharedRx: true, Caps: conform.RDMCaps}))
}

func TestTCPRDM(t *testing.T) {
	need.Asked(t, "the other stacks run this stack's code, too")
	conform.RunParallel(t, uneven(t,
		conform.Stack{Name: "tcp-fault-rdm", Provider: "tcp;fault", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}))
}

func TestRXM(t *testing.T) {
	conform.RunParallel(t, uneven(t,
		conform.Stack{Name: "tcp-fault-rxm", Provider: "tcp;fault;ofi_rxm",
			EPType: core.EPTypeRDM, Caps: conform.RDMCaps}))
}
