package conform_test

// The stacks that the suite is run over.

import (
	"os"
	"testing"

	"gofabric"
	"gofabric/core"
	"gofabric/test/conform"
)

// getInfo is the registry's GetInfo as the suite wants it.
func getInfo(node, service string, flags core.Flags, hints *core.Info) ([]*core.Info, error) {
	list, _, err := gofabric.GetInfo(core.Query{Node: node, Service: service, Flags: flags, Hints: hints})
	return list, err
}

const (
	msgCaps = core.CapMsg | core.CapRMA | core.CapRMAEvent
	rdmCaps = msgCaps | core.CapTagged | core.CapDirectedRecv | core.Source | core.CapMultiRecv
)

func stack(s conform.Stack) conform.Stack {
	s.GetInfo, s.OpenFabric = getInfo, gofabric.OpenFabric
	return s
}

func TestTCPMsg(t *testing.T) {
	conform.Run(t, stack(conform.Stack{Name: "tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: msgCaps}))
}

func TestTCPMsgSRX(t *testing.T) {
	conform.Run(t, stack(conform.Stack{Name: "tcp-msg-srx", Provider: "tcp", EPType: core.EPTypeMsg, SharedRx: true, Caps: rdmCaps}))
}

func TestTCPRDM(t *testing.T) {
	conform.Run(t, stack(conform.Stack{Name: "tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps}))
}

func TestTCPRDMOneDomain(t *testing.T) {
	conform.Run(t, stack(conform.Stack{Name: "tcp-rdm-one-domain", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps, OneDomain: true}))
}

func TestTCPRDMIPv6(t *testing.T) {
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		t.Skip("no IPv6 on this machine")
	}
	conform.Run(t, stack(conform.Stack{Name: "tcp-rdm-ipv6", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps, Node: "::1"}))
}
