package conform

// A Stack describes how to open an endpoint through the provider registry: what to request from GetInfo, and what must
// be offered.

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
	// Caps are the capabilities that the stack must offer. The suite also requests others, which must be refused
	// properly or work.
	Caps core.Caps
	// Manual means that the stack's default is manual data progress. The suite then requests ProgressAuto where
	// necessary.
	Manual bool
	// NoEmptyReads means that the wire format has no empty reads. A read of no bytes completes without a message to
	// the target.
	NoEmptyReads bool
	// Foreign means that both ends use native's packets. Operations that only peers of this module support end with
	// ErrOpNotSupp.
	Foreign bool
	// Overtakes means that a long message may complete later than shorter ones after it, although they match in order
	// (comp_order, fi_endpoint(3)).
	Overtakes bool
	// OneDomain opens both sides in one domain. Otherwise each has its own fabric and domain, as two processes would.
	OneDomain bool
	Node      string // local address to use; default 127.0.0.1
	NodeB     string // of side B; default Node
	MaxSize   int    // length of the largest message to try; default a little more than 9 MiB
	// Bounded is the time within which operations to a dead peer must have failed. The default is the deadline of
	// waits.
	Bounded time.Duration
	Inserts bool // layers such as fault: timing-sensitive negatives are not checked

	Record *record.Recorder // records what themes that pass have shown; may be nil

	// Comply makes Over do what the stack's Infos require of applications (package comply), for stacks that require
	// modes. MRMode is then the part that tests see.
	Comply bool
	MRMode core.MRMode

	Only   []string // themes to run, if not all
	Except []string // themes to leave out: those that need completions in order, where they are not

	// GetInfo and OpenFabric are methods of the registry. GetInfo has the arguments of fi_getinfo(3).
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

// Datagrams reports whether the stack transfers datagrams.
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

// info requests the local side of the stack. service may be "" for any port. It ignores what a MSG endpoint could do
// only with a shared receive context, for a stack without one.
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

// open opens a fabric. What a test that ends early leaves open is closed afterwards.
func (s Stack) open(t testing.TB, info *core.Info) *core.Fabric {
	t.Helper()
	f := must(t, "OpenFabric", func() (*core.Fabric, error) { return s.OpenFabric(info) })
	if s.Comply {
		t.Cleanup(f.Driver().(interface{ Abandon() }).Abandon)
	}
	return f
}

// Offers reports whether the stack offers caps. A refusal must be ErrNoData, and Stack.Caps must not be refused.
func (s Stack) Offers(t testing.TB, caps core.Caps) bool {
	t.Helper()
	info, err := s.info("", s.hints(caps))
	if err == nil {
		if info.Caps&caps != caps {
			t.Fatalf("requested caps %#x, got an Info without them: %#x", uint64(caps), uint64(info.Caps))
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

// need reports whether the theme can run. If not, it has checked and logged the refusal.
func (s Stack) need(t testing.TB, caps core.Caps) bool {
	t.Helper()
	if s.Offers(t, caps) {
		return true
	}
	t.Logf("%s has no caps %#x: refused with ErrNoData, as required", s.Name, uint64(caps))
	return false
}

// proves records features of libfabric that the test has shown, but that are not calls on an object, such as fi_tostr.
func (s Stack) proves(names ...string) {
	for _, name := range names {
		if s.Record != nil {
			s.Record.Worked(name)
		}
	}
}
