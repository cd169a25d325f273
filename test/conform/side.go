package conform

// A Side is one end of a test: fabric, domain, queues, vector and endpoint, and the completions that it has seen.

import (
	"errors"
	"fmt"
	"testing"

	"gofabric/core"
	"gofabric/test/conform/comply"
)

// Side is one end of a Pair.
type Side struct {
	Name   string
	T      testing.TB
	Stack  Stack
	Info   *core.Info
	Fabric *core.Fabric
	Domain *core.Domain
	EQ     *core.EventQueue
	TxCQ   *core.CompletionQueue
	RxCQ   *core.CompletionQueue // equals TxCQ unless the queues are split
	AV     *core.AddressVector
	SRX    *core.SharedRx
	PEP    *core.PassiveEndpoint
	EP     *core.Endpoint
	Addr   core.Addr   // name of the endpoint (RDM) or of the listener
	Peer   core.FIAddr // the other side in AV; AddrUnspec with MSG endpoints
	keyFI  core.FIAddr // of the authorization key in AV
	Asleep bool        // the fixture does not read this side's queues, as an application that makes no calls

	also   *Side // makes progress while this side waits for events, as an application must with ProgressManual
	cfg    config
	shared bool // fabric, domain and queues belong to another Side
	got    []Got
	events []core.EQEvent
	errs   []core.EQErrEntry
	seen   int // number of completions taken so far, for dumps
	keys   uint64
}

// openSide opens everything except the endpoint.
func openSide(t testing.TB, st Stack, name string, k config, share *Side) *Side {
	t.Helper()
	if name == "B" && st.NodeB != "" {
		st.Node = st.NodeB
	}
	s := &Side{Name: name, T: t, Stack: st, cfg: k, Peer: core.AddrUnspec, keys: 100}
	h := st.hints(k.caps)
	if k.hints != nil {
		k.hints(h)
	}
	if k.sideHints != nil {
		k.sideHints(name, h)
	}
	info, err := st.info("", h)
	notOffered(t, err)
	if err != nil {
		t.Fatalf("%s: GetInfo: %v", name, err)
	}
	s.Info = info
	if share != nil {
		s.shared = true
		s.keys += 1 << 20 // keys belong to the domain, not to the side
		s.Fabric, s.Domain = share.Fabric, share.Domain
		if k.shareB == share {
			s.TxCQ, s.RxCQ, s.AV, s.EQ, s.SRX = share.TxCQ, share.RxCQ, share.AV, share.EQ, share.SRX
			return s
		}
	} else {
		s.Fabric = st.open(t, info)
		s.Domain = must(t, "OpenDomain", func() (*core.Domain, error) { return s.Fabric.OpenDomain(info) })
	}
	s.TxCQ = must(t, "OpenCQ", func() (*core.CompletionQueue, error) { return s.Domain.OpenCQ(k.cq) })
	s.RxCQ = s.TxCQ
	if k.splitCQ {
		s.RxCQ = must(t, "OpenCQ", func() (*core.CompletionQueue, error) { return s.Domain.OpenCQ(k.cq) })
	}
	if st.EPType == core.EPTypeMsg {
		s.EQ = must(t, "OpenEQ", func() (*core.EventQueue, error) {
			return s.Fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec, Flags: core.EQWrite})
		})
		if st.SharedRx {
			s.SRX = must(t, "OpenSRX", func() (*core.SharedRx, error) { return s.Domain.OpenSRX(info.Rx) })
		}
	} else {
		s.AV = must(t, "OpenAV", func() (*core.AddressVector, error) { return s.Domain.OpenAV(k.av) })
	}
	return s
}

// openEP opens an endpoint with info, binds all objects and enables it.
func (s *Side) openEP(info *core.Info) {
	s.T.Helper()
	s.EP = must(s.T, "OpenEndpoint", func() (*core.Endpoint, error) { return s.Domain.OpenEndpoint(info) })
	s.BindAll(s.EP)
	if s.cfg.before != nil {
		s.cfg.before(s)
	}
	s.ok("Enable", s.EP.Enable())
}

// BindAll binds the side's objects to ep.
func (s *Side) BindAll(ep *core.Endpoint) {
	s.T.Helper()
	if s.TxCQ == s.RxCQ {
		s.ok("BindCQ", ep.BindCQ(s.TxCQ, core.BindTransmit|core.BindRecv|s.cfg.bindFlags))
	} else {
		s.ok("BindCQ transmit", ep.BindCQ(s.TxCQ, core.BindTransmit|s.cfg.bindFlags))
		s.ok("BindCQ recv", ep.BindCQ(s.RxCQ, core.BindRecv|s.cfg.bindFlags))
	}
	if s.EQ != nil {
		s.ok("BindEQ", ep.BindEQ(s.EQ, 0))
	}
	if s.AV != nil {
		s.ok("BindAV", ep.BindAV(s.AV, 0))
	}
	if s.SRX != nil {
		s.ok("BindSRX", ep.BindSRX(s.SRX))
	}
}

// Rx returns where receives are posted: the shared context if there is one, otherwise the endpoint.
func (s *Side) Rx() core.Receiver {
	if s.SRX != nil {
		return s.SRX
	}
	return s.EP
}

// Reg registers buf with a key of the application's choice, or of the provider's if that chooses. With MRModeEndpoint
// it binds the region to the side's endpoint.
func (s *Side) Reg(buf []byte, access core.Access) *core.MemoryRegion {
	s.T.Helper()
	s.keys++
	return must(s.T, "RegMR", func() (*core.MemoryRegion, error) {
		return s.RegAttr(&core.MRAttr{IOV: [][]byte{buf}, Access: access, RequestedKey: s.keys})
	})
}

// RegAttr registers memory, and calls bind to bind objects to it. With MRModeEndpoint it binds the region to the
// side's endpoint.
func (s *Side) RegAttr(attr *core.MRAttr, bind ...func(*core.MemoryRegion)) (*core.MemoryRegion, error) {
	mr, err := s.Domain.RegMR(attr)
	for _, f := range bind {
		if err == nil {
			f(mr)
		}
	}
	if err != nil || s.Info.Domain.MRMode&core.MRModeEndpoint == 0 {
		return mr, err
	}
	if err := mr.BindEndpoint(s.EP); err != nil {
		return nil, err
	}
	return mr, mr.Enable()
}

// CloseEP closes the endpoint. The other objects stay open.
func (s *Side) CloseEP() {
	s.T.Helper()
	if s.ended() {
		s.EP = nil
		return
	}
	if s.EP != nil {
		s.ok("Close endpoint", s.EP.Close())
		s.EP = nil
	}
}

// ended reports that the test has ended early. The fabric's Abandon then closes what the test has opened.
func (s *Side) ended() bool { return s.Stack.Comply && s.T.Skipped() }

// Close closes the side's objects, in an order in which none is busy.
func (s *Side) Close() {
	s.T.Helper()
	if s.ended() {
		return
	}
	s.CloseEP()
	if s.PEP != nil {
		s.ok("Close passive endpoint", s.PEP.Close())
		s.PEP = nil
	}
	if s.shared && s.cfg.shareB != nil {
		return
	}
	if s.SRX != nil {
		s.ok("Close SRX", s.SRX.Close())
	}
	if s.AV != nil {
		s.ok("Close AV", s.AV.Close())
	}
	if s.RxCQ != s.TxCQ {
		s.ok("Close CQ", s.RxCQ.Close())
	}
	s.ok("Close CQ", s.TxCQ.Close())
	if s.shared {
		if s.EQ != nil {
			s.ok("Close EQ", s.EQ.Close())
		}
		return
	}
	s.ok("Close domain", s.Domain.Close())
	if s.EQ != nil {
		s.ok("Close EQ", s.EQ.Close())
	}
	s.ok("Close fabric", s.Fabric.Close())
}

func (s *Side) ok(what string, err error) {
	s.T.Helper()
	if s.ended() {
		return
	}
	notOffered(s.T, err)
	if err != nil {
		s.T.Fatalf("%s: %s: %v", s.Name, what, err)
	}
}

// Dump describes the side for a failing test.
func (s *Side) Dump() string {
	str := fmt.Sprintf("  side %s: addr %v, %d completions taken, waiting unread: %d",
		s.Name, s.Addr.IP, s.seen, len(s.got))
	for i, g := range s.got {
		if i == 12 {
			str += "\n    ..."
			break
		}
		str += "\n    " + g.String()
	}
	for _, e := range s.events {
		str += fmt.Sprintf("\n    event %d data %q", e.Type, clip(e.CMData))
	}
	for _, e := range s.errs {
		str += fmt.Sprintf("\n    event error %v: %s", e.Err, e.Detail)
	}
	return str
}

func must[T any](t testing.TB, what string, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	notOffered(t, err)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return v
}

// notOffered skips the rest of a test that needs something which the provider does not offer.
func notOffered(t testing.TB, err error) {
	t.Helper()
	var no *comply.NotOffered
	if errors.As(err, &no) {
		t.Skipf("not offered: %s", no.What)
	}
}

// oneOf reports whether err is one of the given errors.
func oneOf(err error, want ...core.Errno) bool {
	for _, w := range want {
		if errors.Is(err, w) {
			return true
		}
	}
	return false
}

// refuse fails the test unless err is one of want.
func refuse(t testing.TB, what string, err error, want ...core.Errno) {
	t.Helper()
	if !oneOf(err, want...) {
		notOffered(t, err)
		t.Errorf("%s: %v; want one of %v", what, err, want)
	}
}
