// Package processes runs the core of the conformance suite between two processes, with manual and with automatic
// progress, and with each threading model.
package processes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/need"
)

func TestMain(m *testing.M) { conform.Main(m) }

// levels are the threading models that all stacks have (fi_domain(3)).
var levels = []core.Threading{core.ThreadSafe, core.ThreadCompletion, core.ThreadDomain}

// models returns all models by the suffix of a stack's name.
func models() map[string]conform.Model {
	all := map[string]conform.Model{}
	for _, th := range levels {
		all[fmt.Sprintf("auto-%d", th)] = conform.Model{Progress: core.ProgressAuto, Threading: th}
		all[fmt.Sprintf("manual-%d", th)] = conform.Model{Progress: core.ProgressManual, Threading: th}
	}
	return all
}

// turn counts the stacks, so that each begins with another model.
var turn int

// chosen returns the models of a plain run for the next stack: each threading model once, with the progress models in
// turn. Over all stacks, every combination of progress and threading occurs.
func chosen() []string {
	turn++
	var names []string
	for i, th := range levels {
		names = append(names, fmt.Sprintf("%s-%d", []string{"auto", "manual"}[(i+turn)%2], th))
	}
	return names
}

// between runs the suite over st between two processes. In the child it is the child's side. With GOFABRIC_MANY it
// runs all models.
func between(t *testing.T, st conform.Stack, vars map[string]string) {
	base, few := st.Name, chosen()
	for name, m := range models() {
		st.Name = base + "-" + name
		if conform.IsFar(st.Name) {
			conform.ServeFar(t, conform.Over(t, st, vars), m)
			return
		}
	}
	for name, m := range models() {
		if !need.Many() && !slices.Contains(few, name) {
			continue
		}
		st.Name = base + "-" + name
		t.Run(name, func(t *testing.T) {
			conform.RunProcesses(t, conform.Over(t, st, vars), strings.TrimSuffix(t.Name(), "/"+name), m)
		})
	}
}

func TestTCPMsg(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, nil)
}

func TestTCPMsgSRX(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-msg-srx", Provider: "tcp", EPType: core.EPTypeMsg,
		SharedRx: true, Caps: conform.RDMCaps}, nil)
}

func TestTCPRDM(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil)
}

func TestRXM(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-rxm", Provider: "tcp;ofi_rxm", EPType: core.EPTypeRDM, Caps: conform.RDMCaps},
		nil)
}

func TestRXD(t *testing.T) {
	between(t, conform.Stack{Name: "udp-rxd", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM, Caps: conform.RXDCaps},
		nil)
}

// TestRXMNative and TestRXDNative have both ends use native's packets.
func TestRXMNative(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-rxm-native", Provider: "tcp;ofi_rxm", EPType: core.EPTypeRDM,
		Caps: conform.RDMCaps, Foreign: true},
		map[string]string{"FI_OFI_RXM_EXTENSIONS": "0"})
}

func TestRXDNative(t *testing.T) {
	between(t, conform.Stack{Name: "udp-rxd-native", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM,
		Caps: conform.RXDCaps, NoEmptyReads: true, Foreign: true},
		map[string]string{"FI_OFI_RXD_EXTENSIONS": "0"})
}

// The same over networks that lose, delay, repeat and corrupt. Both ends have the same seed.
func TestTCPMsgFaults(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-fault-msg", Provider: "tcp;fault",
		EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, uneven)
}

func TestTCPRDMFaults(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-fault-rdm", Provider: "tcp;fault",
		EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, uneven)
}

func TestRXMFaults(t *testing.T) {
	between(t, conform.Stack{Name: "tcp-fault-rxm", Provider: "tcp;fault;ofi_rxm",
		EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, uneven)
}

func TestRXDFaults(t *testing.T) {
	between(t, conform.Stack{Name: "udp-fault-rxd", Provider: "udp;fault;ofi_rxd",
		EPType: core.EPTypeRDM, Caps: conform.RXDCaps},
		map[string]string{"FI_FAULT_SEED": "7", "FI_FAULT_LOSS": "2%", "FI_FAULT_REORDER": "2%",
			"FI_FAULT_DUP": "2%", "FI_FAULT_CORRUPT": "2%"})
}

// uneven delays connections at times, and splits sends and receives at random bytes.
var uneven = map[string]string{"FI_FAULT_SEED": "7", "FI_FAULT_LOSS": "0.05%", "FI_FAULT_REORDER": "0.5%",
	"FI_FAULT_CORRUPT": "0.05%", "FI_FAULT_DUP": "1%",
	"FI_FAULT_CUT": "20%", "FI_FAULT_JITTER": "100us"}
