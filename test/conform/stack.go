package conform

// A Stack describes one way through the provider registry to an endpoint: what to ask of GetInfo, and what must be offered.

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/conform/record"
)

// Stack is a provider stack under test.
type Stack struct {
	Name     string      // of the subtest, such as "tcp-msg"
	Provider string      // FabricAttr.ProvName of the hints, such as "tcp" or "udp;ofi_rxd"
	EPType   core.EPType // EPTypeMsg or EPTypeRDM
	SharedRx bool        // MSG endpoints receive through a shared receive context
	// Caps are the capabilities that the stack must offer. Those beyond are asked for all the same: refused properly, or working.
	Caps core.Caps
	// Manual says that the stack's data progress needs the application by default; the suite then asks for ProgressAuto where it matters.
	Manual bool
	// NoEmptyReads says that the wire format has none: a read of nothing completes without the target's hearing of it.
	NoEmptyReads bool
	// Foreign says that the ends take each other for native peers: what only peers of this module can do ends with ErrOpNotSupp.
	Foreign bool
	// Overtakes says that a long message may be complete later than shorter ones after it, though they are matched in order (comp_order, fi_endpoint(3)).
	Overtakes bool
	// OneDomain puts both sides into one domain; otherwise each has its own fabric and domain, as two processes would.
	OneDomain bool
	Node      string        // local address to use; default 127.0.0.1
	NodeB     string        // of side B; default Node
	MaxSize   int           // largest message to try; default 9 MiB and a bit
	Bounded   time.Duration // within which operations to a dead peer must have failed; default the deadline of waits
	Inserts   bool          // layers such as fault: timing-sensitive negatives are not checked

	Record *record.Recorder // notes what themes that pass have shown; may be nil

	// Comply has Over do what the stack's Infos demand of applications (package comply), for stacks that demand something. MRMode is then what of it shows.
	Comply bool
	MRMode core.MRMode

	Only   []string // themes that are run, if not all
	Except []string // themes that are not for it: those that take completions to be in order, where they are not

	// GetInfo and OpenFabric are the registry's. GetInfo has the arguments of fi_getinfo(3).
	GetInfo    func(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error)
	OpenFabric func(info *core.Info) (*core.Fabric, error)
}

func (s Stack) node() string {
	if s.Node != "" {
		return s.Node
	}
	return "127.0.0.1"
}

func (s Stack) maxSize() int {
	if s.MaxSize > 0 {
		return s.MaxSize
	}
	return 9<<20 + 7
}

func (s Stack) bounded() time.Duration {
	if s.Bounded > 0 {
		return s.Bounded
	}
	return Deadline
}

// Datagrams reports whether the stack stands on datagrams, not on connections.
func (s Stack) Datagrams() bool { return strings.HasPrefix(s.Provider, "udp") }

// hints returns the hints of the stack for the given capabilities.
func (s Stack) hints(caps core.Caps) *core.Info {
	h := core.NewHints()
	h.Caps = caps
	h.Fabric.ProvName = s.Provider
	h.EP.Type = s.EPType
	h.Mode = core.ModeContext | core.ModeContext2
	if s.SharedRx {
		h.EP.RxCtxCnt = core.SharedContext
	}
	return h
}

// info asks for the local side of the stack; service may be "" for a port of the system's choice. What a MSG endpoint could do only over a shared receive
// context does not count for a stack without one.
func (s Stack) info(service string, hints *core.Info) (*core.Info, error) {
	list, err := s.GetInfo(s.node(), service, core.InfoSource, hints)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("conform: GetInfo returned neither an Info nor an error")
	}
	for _, info := range list {
		if s.EPType != core.EPTypeMsg || s.SharedRx == (info.EP.RxCtxCnt == core.SharedContext) {
			return info, nil
		}
	}
	return nil, core.ErrNoData
}

// open opens a fabric. What a test that comes to an end early leaves open is closed behind it.
func (s Stack) open(t testing.TB, info *core.Info) *core.Fabric {
	t.Helper()
	f := must(t, "OpenFabric", func() (*core.Fabric, error) { return s.OpenFabric(info) })
	if s.Comply {
		t.Cleanup(f.Driver().(interface{ Abandon() }).Abandon)
	}
	return f
}

// Offers asks GetInfo whether the stack has caps. A refusal must be ErrNoData, and none of Stack.Caps may be refused.
func (s Stack) Offers(t testing.TB, caps core.Caps) bool {
	t.Helper()
	info, err := s.info("", s.hints(caps))
	if err == nil {
		if info.Caps&caps != caps {
			t.Fatalf("asked for caps %#x, got an Info without them: %#x", uint64(caps), uint64(info.Caps))
		}
		return true
	}
	if !errors.Is(err, core.ErrNoData) {
		t.Fatalf("GetInfo refused caps %#x with %v; want ErrNoData", uint64(caps), err)
	}
	if s.Caps&caps == caps {
		t.Fatalf("GetInfo refused caps %#x, which the stack must offer: %v", uint64(caps), err)
	}
	return false
}

// need reports whether the theme can run; if not, it has checked that the refusal is a proper one and says so.
func (s Stack) need(t testing.TB, caps core.Caps) bool {
	t.Helper()
	if s.Offers(t, caps) {
		return true
	}
	t.Logf("%s has no caps %#x: refused with ErrNoData, as it should", s.Name, uint64(caps))
	return false
}

// proves notes that the test has shown a feature of libfabric's to work that is no call on an object, such as fi_tostr.
func (s Stack) proves(names ...string) {
	for _, name := range names {
		if s.Record != nil {
			s.Record.Worked(name)
		}
	}
}
