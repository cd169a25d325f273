// Package strict runs the conformance suite in strict mode: with the profile that demands nothing, where only the order changes in which completions and
// messages without ordering come; and with those of providers, as an application that does what its Info demands.
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

// ordered makes a stack ask for the ordering of messages that the suite relies on.
func ordered(st conform.Stack) conform.Stack {
	getInfo := st.GetInfo
	st.GetInfo = func(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error) {
		h := hints.Dup()
		h.Tx.MsgOrder |= core.OrderSAS
		h.Rx.MsgOrder |= core.OrderSAS
		if list, err := getInfo(node, service, flags, h); err == nil || !errors.Is(err, core.ErrNoData) {
			return list, err
		}
		return getInfo(node, service, flags, hints) // nobody has it: with seed 0 everything keeps its place all the same
	}
	return st
}

// hinted are the themes that ask for an order of their own; inOrder those that take completions to come in order, too, which nothing promises (fi_cq(3)).
var (
	hinted  = []string{"order"}
	inOrder = append([]string{"msg", "multirecv", "cq"}, hinted...)
)

// run runs the suite twice: with everything in its place, and without the themes that expect it.
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
			conform.RunTogether(t, s)
		})
	}
}

func TestTCPMsg(t *testing.T) {
	run(t, conform.Stack{Name: "strict-tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: conform.MsgCaps}, nil)
}

func TestTCPMsgSRX(t *testing.T) {
	need.Asked(t, "all stacks are many, those of tcp are run once each")
	run(t, conform.Stack{Name: "strict-tcp-msg-srx", Provider: "tcp", EPType: core.EPTypeMsg, SharedRx: true, Caps: conform.RDMCaps}, nil)
}

func TestTCPRDM(t *testing.T) {
	run(t, conform.Stack{Name: "strict-tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}, nil)
}

func TestRXD(t *testing.T) {
	need.Asked(t, "all stacks are many, those of tcp are run once each")
	soon := map[string]string{"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000"}
	run(t, conform.Stack{Name: "strict-udp-rxd", Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM, Caps: conform.RXDCaps}, soon)
}

// stacks are what profiles are looked at through, by the names of the tests.
var stacks = map[string]conform.Stack{
	"msg":     {Provider: "tcp", EPType: core.EPTypeMsg},
	"msg-srx": {Provider: "tcp", EPType: core.EPTypeMsg, SharedRx: true},
	"rdm":     {Provider: "tcp", EPType: core.EPTypeRDM},
	"rxm":     {Provider: "tcp;ofi_rxm", EPType: core.EPTypeRDM},
	"rxd":     {Provider: "udp;ofi_rxd", EPType: core.EPTypeRDM},
	"dgram":   {Provider: "udp", EPType: core.EPTypeDgram},
}

// over are the stacks that each profile is looked at through: all kinds of endpoint that the profile has, and RDM endpoints over each stack in turn.
var over = map[string][]string{
	"verbs":      {"msg", "msg-srx", "rxm", "dgram"},
	"efa":        {"rdm", "dgram"},
	"efa-direct": {"rxd", "dgram"},
	"cxi":        {"rxm"},
	"psm3":       {"rdm", "dgram"},
	"opx":        {"rxd"},
	"all":        {"msg", "rdm", "dgram"},
}

// few are those of a plain run of all tests.
var few = []string{"verbs/msg", "efa/rdm"}

// TestProfiles runs the suite with each profile that there is, over each stack that has what the profile offers, as an application does that obeys the
// Info. What the hardware does not have is skipped by name: the capability, limit or call is not offered.
func TestProfiles(t *testing.T) {
	for _, name := range strings.Split(core.StrictProfiles, ", ") {
		if over[name] == nil && name != "loose" {
			t.Errorf("nobody looks at profile %s", name)
		}
		for _, stack := range over[name] {
			t.Run(name+"/"+stack, func(t *testing.T) {
				if !slices.Contains(few, name+"/"+stack) {
					need.Asked(t, "all stacks are many, those of tcp are run once each")
				}
				st := stacks[stack]
				vars := map[string]string{"FI_STRICT": name, "FI_STRICT_SEED": "0", "FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_PEER_TIMEOUT": "3000"}
				st.Name, st.Comply, st.Except = "strict-"+name+"-"+stack, true, hinted
				conform.RunTogether(t, ordered(conform.Over(t, st, vars)))
			})
		}
	}
}
