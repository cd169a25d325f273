package conform

// How test packages open this module's providers: with a registry for each stack, which has parameters of its own.

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
	"gofabric/provider/udp"
	"gofabric/test/conform/comply"
	"gofabric/test/conform/record"
	"gofabric/test/parallel"
	"gofabric/util/fault"
	"gofabric/util/rxd"
	"gofabric/util/rxm"
	"gofabric/util/strict"
)

// Capabilities of this module's stacks.
const (
	MsgCaps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapRMAEvent | core.CapAtomic | core.CapFence | core.CapTrigger | core.CapMultiRecv
	RDMCaps = MsgCaps | core.CapDirectedRecv | core.CapSource | core.CapAVUserID | core.CapSharedAV
	RXDCaps = RDMCaps
)

// Main is the TestMain of packages that run the suite. Nothing may leak until the end.
func Main(m *testing.M) {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close() // opens the runtime's own descriptors (its poller) before the tests count any
	}
	parallel.Run(4)
	before := openFDs()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if after := settledFDs(before); code == 0 && after > before {
			fmt.Fprintf(os.Stderr, "descriptors: %d before all tests, %d after them\n", before, after)
			code = 1
		}
		os.Exit(code)
	}))
}

// Over completes a Stack with a registry of its own. It has the parameters params, and reads none from the
// environment.
func Over(t *testing.T, s Stack, params map[string]string) Stack {
	t.Helper()
	if s.Node == "" {
		s.Node = loopback()
	}
	store, err := core.NewParams(func(name string) (string, bool) { v, ok := params[name]; return v, ok }, "")
	if err != nil {
		t.Fatal(err)
	}
	machine := &host.Host{}
	over, err := strict.New(store, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	reg := core.NewRegistry(providers(t, store, machine)...)
	reg.SetHook(over)
	if s.Record != nil {
		reg.SetHook(&record.Hook{Below: over, R: s.Record})
	}
	var complying *comply.Hook
	if s.Comply {
		complying = &comply.Hook{Below: over}
		reg.SetHook(complying)
	}
	s.GetInfo = func(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error) {
		asked := hints
		if complying != nil {
			asked = complying.Hints(hints)
		}
		below := flags
		if s.Record != nil {
			if below = record.Mask(s.Record, "fi_getinfo", flags); s.Record.Lacks("fi_getinfo") {
				return nil, core.ErrNoSys
			}
		}
		list, refusals, err := core.GetInfo(reg, machine, store,
			core.Query{Node: node, Service: service, Flags: below, Hints: asked})
		if complying != nil {
			list, err = complying.Results(hints, list, refusals, err)
		}
		if s.Record != nil {
			s.Record.Asked(flags, hints, list, err)
		}
		return list, err
	}
	s.OpenFabric = func(info *core.Info) (*core.Fabric, error) { return core.OpenFabric(reg, info) }
	if complying != nil {
		info, err := complying.Probe(s.hints(0), func(h *core.Info) ([]*core.Info, error) {
			list, _, err := core.GetInfo(reg, machine, store,
				core.Query{Node: s.Node, Flags: core.InfoSource, Hints: h})
			return list, err
		})
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if n := info.EP.MaxMsgSize; n > 0 && n < s.maxSize() {
			s.MaxSize = n
		}
		s.MRMode, s.Manual = complying.Demands.MRMode, info.Domain.DataProgress == core.ProgressManual
	}
	return s
}

// stacks counts the stacks of this process.
var stacks atomic.Uint32

// loopback returns a loopback address of a stack's own, where the system has more than one. Other test processes, and
// other stacks that are tested in parallel, may still send to ports that this stack gets next. Those datagrams do not
// arrive here, and no other process gets a port that this stack has closed.
func loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	n := uint32(os.Getpid())<<3 | stacks.Add(1)&7
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16&127, n>>8&255, n&255)
}

// providers makes all providers of this module.
func providers(t *testing.T, store *core.Params, machine core.Host) []core.Provider {
	t.Helper()
	var all []core.Provider
	for _, open := range []func() (core.Provider, error){
		func() (core.Provider, error) { return rxm.New(store, machine) },
		func() (core.Provider, error) { return rxd.New(store, machine) },
		func() (core.Provider, error) { return fault.New(store, machine) },
		func() (core.Provider, error) { return udp.New(store, machine) },
		func() (core.Provider, error) { return tcp.New(store, machine) },
	} {
		p, err := open()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// RXD returns a stack of reliable datagrams. params are FI_* variables and their values in turn. The stack soon
// notices that a peer is gone.
func RXD(t *testing.T, name, provider string, params ...string) Stack {
	m := map[string]string{"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000",
		"FI_OFI_RXD_PEER_TIMEOUT": "3000", "FI_OFI_RXD_LINGER": "5000"}
	for i := 0; i < len(params); i += 2 {
		m[params[i]] = params[i+1]
	}
	return Over(t, Stack{Name: name, Provider: provider, EPType: core.EPTypeRDM, Caps: RXDCaps}, m)
}
