// Package strict runs the conformance suite in strict mode. It runs it with the profile that requires nothing and
// changes only the order of unordered completions and messages, and with the profiles of providers, as an application
// that does what its Info requires.
package strict

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/need"
)

func TestMain(m *testing.M) { conform.Main(m) }

// ordered makes a stack request the message order on which the suite relies.
func ordered(st conform.Stack) conform.Stack {
	getInfo := st.GetInfo
	st.GetInfo = func(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error) {
		h := hints.Dup()
		h.Tx.MsgOrder |= core.OrderSAS
		h.Rx.MsgOrder |= core.OrderSAS
		if list, err := getInfo(node, service, flags, h); err == nil || !errors.Is(err, core.ErrNoData) {
			return list, err
		}
		return getInfo(node, service, flags, hints) // no provider has it; with seed 0 nothing is reordered anyway
	}
	return st
}

// hinted are the themes that request an order of their own. inOrder are those that also need completions in order,
// which libfabric does not guarantee (fi_cq(3)).
var (
	hinted  = []string{"order"}
	inOrder = append([]string{"msg", "multirecv", "cq"}, hinted...)
)

// run runs the suite twice: without reordering, and with reordering but without the themes that need order.
func run(t *testing.T, st conform.Stack, params map[string]string) {
	for _, seed := range []string{"0", "7"} {
		t.Run("seed"+seed, func(t *testing.T) {
			m := map[string]string{"FI_STRICT": "loose", "FI_STRICT_SEED": seed}
			maps.Copy(m, params)
			s := ordered(conform.Over(t, st, m))
			s.Except = hinted
			if seed != "0" {
				s.Except = inOrder
			}
			conform.RunParallel(t, s)
		})
	}
}

func TestTCPMsg(t *testing.T) {
	run(t, conform.Stack{Name: "strict-tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, nil)
}

func TestTCPMsgSRX(t *testing.T) {
	need.Asked(t, "a full run takes long; the stacks of tcp run once each")
	run(t, conform.Stack{Name: "strict-tcp-msg-srx", Provider: "tcp", EPType: core.EPTypeMsg,
		SharedRx: true, Caps: conform.RDMCaps}, nil)
}

func TestTCPRDM(t *testing.T) {
	run(t, conform.Stack{Name: "strict-tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil)
}

func TestRXD(t *testing.T) {
	need.Asked(t, "a full run takes long; the stacks of tcp run once each")
	soon := map[string]string{"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000"}
	run(t, conform.Stack{Name: "strict-udp-rxd", Provider: "udp;ofi_rxd",
		EPType: core.EPTypeRDM, Caps: conform.RXDCaps}, soon)
}

// stacks are the stacks for tests of profiles, by the names of the tests.
var stacks = map[string]conform.Stack{
	"msg":     {Provider: "tcp", EPType: core.EPTypeMsg},
	"msg-srx": {Provider: "tcp", EPType: core.EPTypeMsg, SharedRx: true},
	"rdm":     {Provider: "tcp", EPType: core.EPTypeRDM},
	"rxm":     {Provider: "tcp;ofi_rxm", EPType: core.EPTypeRDM},
	"rxd":     {Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM},
	"dgram":   {Provider: "udp", EPType: core.EPTypeDgram},
}

// over are the stacks for each profile: all kinds of endpoint that the profile has, and RDM endpoints over each stack
// in turn.
var over = map[string][]string{
	"verbs":      {"msg", "msg-srx", "rxm", "dgram"},
	"efa":        {"rdm", "dgram"},
	"efa-direct": {"rxd", "dgram"},
	"cxi":        {"rxm"},
	"psm3":       {"rdm", "dgram"},
	"opx":        {"rxd"},
	"all":        {"msg", "rdm", "dgram"},
}

// few are the combinations of a plain run of all tests.
var few = []string{"verbs/msg", "efa/rdm"}

// TestProfiles runs the suite with each profile, over each stack that has what the profile offers, as an application
// that does what its Info requires. A test that needs something that the hardware lacks is skipped with the reason:
// the capability, limit or call is not offered.
func TestProfiles(t *testing.T) {
	for _, name := range strings.Split(core.StrictProfiles, ", ") {
		if over[name] == nil && name != "loose" {
			t.Errorf("no stack is chosen for profile %s", name)
		}
		for _, stack := range over[name] {
			t.Run(name+"/"+stack, func(t *testing.T) {
				if !slices.Contains(few, name+"/"+stack) {
					need.Asked(t, "a full run takes long; the stacks of tcp run once each")
				}
				st := stacks[stack]
				vars := map[string]string{"FI_STRICT": name, "FI_STRICT_SEED": "0",
					"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000"}
				st.Name, st.Comply, st.Except = "strict-"+name+"-"+stack, true, hinted
				conform.RunParallel(t, ordered(conform.Over(t, st, vars)))
			})
		}
	}
}
