package conform_test

// The stacks that the suite is run over.

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
	"gofabric/test/conform"
)

const (
	msgCaps = core.CapMsg | core.CapRMA | core.CapRMAEvent
	rdmCaps = msgCaps | core.CapTagged | core.CapDirectedRecv | core.Source | core.CapMultiRecv
)

// loopback is a loopback address of this process' own, where the system has more than one: what other test processes on the machine still send to ports
// that this one is given next does not arrive here.
func loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 1+pid>>16&127, pid>>8&255, 1+pid&127)
}

// over completes a Stack with a registry of its own, whose parameters are params and nothing of the environment.
func over(t *testing.T, s conform.Stack, params map[string]string) conform.Stack {
	t.Helper()
	if s.Node == "" {
		s.Node = loopback()
	}
	store, err := core.NewParams(func(name string) (string, bool) { v, ok := params[name]; return v, ok }, "")
	if err != nil {
		t.Fatal(err)
	}
	machine := &host.Host{}
	p, err := tcp.New(store, machine)
	if err != nil {
		t.Fatal(err)
	}
	reg := core.NewRegistry(p)
	s.GetInfo = func(node, service string, flags core.Flags, hints *core.Info) ([]*core.Info, error) {
		list, _, err := core.GetInfo(reg, machine, store, core.Query{Node: node, Service: service, Flags: flags, Hints: hints})
		return list, err
	}
	s.OpenFabric = func(info *core.Info) (core.Fabric, error) { return core.OpenFabric(reg, info) }
	return s
}

func TestTCPMsg(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg, Caps: msgCaps}, nil))
}

func TestTCPMsgSRX(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-msg-srx", Provider: "tcp", EPType: core.EPTypeMsg, SharedRx: true, Caps: rdmCaps}, nil))
}

func TestTCPRDM(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps}, nil))
}

func TestTCPRDMOneDomain(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-rdm-one-domain", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps, OneDomain: true}, nil))
}

func TestTCPMsgOneDomain(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-msg-one-domain", Provider: "tcp", EPType: core.EPTypeMsg, Caps: msgCaps, OneDomain: true}, nil))
}

func TestTCPRDMIPv6(t *testing.T) {
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		if os.Getenv("GOFABRIC_PEERS") == "required" {
			t.Fatalf("GOFABRIC_PEERS=required, but there is no IPv6 on this machine: %v", err)
		}
		t.Skip("no IPv6 on this machine")
	}
	conform.Run(t, over(t, conform.Stack{Name: "tcp-rdm-ipv6", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps, Node: "::1"}, nil))
}

// TestTCPRDMRendezvous has large tagged messages wait at the sender.
func TestTCPRDMRendezvous(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-rdm-rendezvous", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps},
		map[string]string{"FI_TCP_MAX_SAVED_SIZE": "16384"}))
}

// TestTCPRDMSmallBuffers has nothing staged, little read ahead, and few bytes of unexpected messages kept.
func TestTCPRDMSmallBuffers(t *testing.T) {
	conform.Run(t, over(t, conform.Stack{Name: "tcp-rdm-small-buffers", Provider: "tcp", EPType: core.EPTypeRDM, Caps: rdmCaps},
		map[string]string{"FI_TCP_STAGING_SBUF_SIZE": "0", "FI_TCP_PREFETCH_RBUF_SIZE": "0", "FI_TCP_UNEXP_BYTES": "33554432", "FI_TCP_TX_SIZE": "8"}))
}
