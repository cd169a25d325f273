package conform

// Calls that no other theme makes: of queues, vectors, regions and the library, on every kind of stack.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gofabric/core"
)

func testObjects(t *testing.T, st Stack) {
	t.Run("library", func(t *testing.T) { library(t, st) })
	t.Run("getinfo", func(t *testing.T) { infoFlags(t, st) })
	t.Run("options", func(t *testing.T) { everyOption(t, st) })
	t.Run("names", func(t *testing.T) { setName(t, st) })
	t.Run("eq", func(t *testing.T) { eventQueues(t, st) })
	t.Run("wait", func(t *testing.T) { waitObjects(t, st) })
	if st.EPType != core.EPTypeMsg {
		t.Run("vectors", func(t *testing.T) { vectorFlags(t, st) })
	}
	if st.EPType != core.EPTypeDgram {
		t.Run("regions", func(t *testing.T) { regions(t, st) })
		t.Run("query", func(t *testing.T) { queryAtomic(t, st) })
	}
}

// library checks calls that belong to no object.
func library(t *testing.T, st Stack) {
	hints := st.hints(core.CapMsg)
	st.proves("fi_allocinfo")
	info := must(t, "GetInfo", func() (*core.Info, error) { return st.info("", hints) })
	dup := info.Dup()
	dup.EP.MaxMsgSize, dup.Domain.Name = 1, "other"
	if info.EP.MaxMsgSize == 1 || info.Domain.Name == "other" {
		t.Error("a duplicate shares its attributes with the original")
	} else {
		st.proves("fi_dupinfo")
	}
	if text := info.String(); !strings.Contains(text, "prov_name: "+info.Fabric.ProvName) ||
		!strings.Contains(text, "FI_MSG") {
		t.Errorf("the text of an Info has neither provider nor capabilities:\n%s", text)
	} else if texts(t) {
		st.proves("fi_tostr")
	}
	if v := core.LibraryVersion; v.Major() == 2 && core.V(v.Major(), v.Minor()) == v {
		st.proves("fi_version")
	}
	if core.ErrAgain.Error() != "" && core.ErrAgain.Error() != core.ErrNoSys.Error() {
		st.proves("fi_strerror")
	}
	if c := core.TCDSCP | 46; c&core.TCDSCP != 0 && c&0xff == 46 {
		st.proves("fi_tc_dscp_set", "fi_tc_dscp_get")
	}
	if a := core.RxAddr(5, 3, 4); a == 3<<60|5 {
		st.proves("fi_rx_addr")
	}
	store, err := core.NewParams(func(string) (string, bool) { return "", false }, "")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	for _, p := range providers(t, store, nil) {
		if d, ok := p.(core.Parametrized); ok {
			n += len(d.Params())
		}
	}
	if n < 20 {
		t.Errorf("the providers have %d variables", n)
	} else {
		st.proves("fi_getparams")
	}
}

// texts checks the names of one value of each kind that fi_tostr(3) knows, and of an unknown one.
func texts(t *testing.T) bool {
	ok := true
	for want, v := range map[string]fmt.Stringer{
		"FI_EP_RDM": core.EPTypeRDM, "FI_SOCKADDR_IN": core.FormatSockaddrIn, "FI_THREAD_DOMAIN": core.ThreadDomain,
		"FI_PROGRESS_AUTO": core.ProgressAuto,
		"FI_PROTO_XNET":    core.ProtoXNET, "FI_AV_TABLE": core.AVTable,
		"FI_DOUBLE": core.Double, "FI_CSWAP": core.AtomicCSwap,
		"FI_CONNREQ": core.EventConnReq, "FI_CQ_FORMAT_TAGGED": core.CQFormatTagged,
		"FI_WAIT_FD": core.WaitFD, "FI_ORDER_SAS": core.OrderSAS,
		"FI_CONTEXT": core.ModeContext, "FI_MR_LOCAL": core.MRModeLocal, "Unknown": core.EPType(99),
	} {
		if got := v.String(); got != want {
			t.Errorf("the text of %s is %q", want, got)
			ok = false
		}
	}
	return ok
}

// infoFlags calls GetInfo with each flag.
func infoFlags(t *testing.T, st Stack) {
	for _, f := range []core.InfoFlags{core.InfoNumericHost, core.InfoRescan, core.InfoNumericHost | core.InfoSource} {
		list, err := st.GetInfo(st.node(), "", f, st.hints(core.CapMsg))
		if err != nil || len(list) == 0 {
			t.Errorf("GetInfo with flags %#x: %d results, %v", uint64(f), len(list), err)
		}
	}
	if _, err := st.GetInfo("localhost", "7000", core.InfoNumericHost, st.hints(core.CapMsg)); err == nil {
		t.Error("GetInfo accepted a name as a number")
	}
	h := core.NewHints()
	h.Fabric.ProvName = st.Provider
	list, err := st.GetInfo("", "", core.InfoProvAttrOnly, h)
	if err != nil || len(list) == 0 || !slices.ContainsFunc(list, func(i *core.Info) bool { return strings.HasSuffix(st.Provider, i.Fabric.ProvName) }) {
		t.Errorf("GetInfo of attributes of providers: %d results, %v", len(list), err)
	}
}

// everyOption reads and sets all options. Options that endpoints do not have are refused with ErrNoProtoOpt.
func everyOption(t *testing.T, st Stack) {
	p := Open(t, st)
	for opt := core.OptMinMultiRecv; opt <= core.OptFirewallAddr; opt++ {
		v, err := p.A.EP.GetOpt(opt)
		if err != nil {
			refuse(t, "GetOpt of an option that does not exist", err, core.ErrNoProtoOpt)
			refuse(t, "SetOpt of an option that does not exist", p.A.EP.SetOpt(opt, 1), core.ErrNoProtoOpt)
			continue
		}
		if v < 0 {
			t.Errorf("option %d is %d", opt, v)
		}
		if err := p.A.EP.SetOpt(opt, v); err != nil &&
			!oneOf(err, core.ErrNoProtoOpt, core.ErrOpNotSupp, core.ErrInval) {
			t.Errorf("SetOpt of option %d: %v", opt, err)
		}
	}
	if p.B.PEP != nil {
		if n, err := p.B.PEP.GetOpt(core.OptCMDataSize); err != nil || n < 64 {
			t.Errorf("room for data in connection requests: %d, %v", n, err)
		}
	}
}

// setName opens an endpoint at a port that was free a moment ago.
func setName(t *testing.T, st Stack) {
	p := Open(t, st)
	var last error
	for range 10 {
		ep := must(t, "OpenEndpoint", func() (*core.Endpoint, error) { return p.A.Domain.OpenEndpoint(p.A.Info) })
		name := core.IPAddr(freePort(t, st.node()))
		last = ep.SetName(name)
		if last == nil {
			p.A.BindAll(ep)
			if last = ep.Enable(); last == nil {
				got := must(t, "Name", ep.Name)
				if got.IP != name.IP {
					t.Errorf("name %v, after it was set to %v", got.IP, name.IP)
				}
			}
		}
		p.A.ok("Close", ep.Close())
		if last == nil || oneOf(last, core.ErrNoSys) {
			break
		}
	}
	if last != nil {
		t.Errorf("SetName: %v", last)
	}
}

// eventQueues writes, peeks at and waits for events.
func eventQueues(t *testing.T, st Stack) {
	p := Open(t, st)
	for _, w := range []core.WaitObj{core.WaitUnspec, core.WaitFD, core.WaitMutexCond, core.WaitYield} {
		eq := must(t, "OpenEQ", func() (*core.EventQueue, error) {
			return p.A.Fabric.OpenEQ(core.EQAttr{WaitObj: w, Flags: core.EQWrite})
		})
		p.A.ok("Write", eq.Write(core.EQEvent{Type: core.EventNotify, Data: 7}, 0))
		var ev core.EQEvent
		p.A.ok("Peek", eq.Read(&ev, core.EQPeek))
		ctx, cancel := context.WithTimeout(context.Background(), Deadline)
		ev = core.EQEvent{}
		if err := eq.SRead(ctx, &ev, 0); err != nil || ev.Data != 7 {
			t.Errorf("SRead: %v, %d", err, ev.Data)
		}
		cancel()
		if err := eq.ReadErr(&core.EQErrEntry{}, 0); !errors.Is(err, core.ErrAgain) {
			t.Errorf("ReadErr of nothing: %v", err)
		}
		if s := eq.StrError(int(core.ErrConnRefused)); s == "" {
			t.Error("StrError is empty")
		}
		p.A.ok("Close EQ", eq.Close())
	}
	eq := must(t, "OpenEQ", func() (*core.EventQueue, error) { return p.A.Fabric.OpenEQ(core.EQAttr{}) })
	d := must(t, "OpenDomain", func() (*core.Domain, error) { return p.A.Fabric.OpenDomain(p.A.Info) })
	p.A.ok("BindEQ of a domain", d.BindEQ(eq, 0))
	p.A.ok("Close domain", d.Close())
	p.A.ok("Close EQ", eq.Close())
}

// waitObjects waits with kinds of wait objects that other themes do not use.
func waitObjects(t *testing.T, st Stack) {
	p := Open(t, st, WithCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitPollFD}))
	buf := make([]byte, 8)
	p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
	p.Retry("inject", func() error { return p.A.EP.Inject(still[:8], p.A.Peer) })
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	var e [1]core.CQEntry
	done := make(chan error, 1)
	p.B.Asleep = true
	go func() {
		_, err := p.B.RxCQ.SRead(ctx, e[:])
		done <- err
	}()
	if err := p.await("SRead", done); err != nil {
		t.Errorf("SRead: %v", err)
	}
	p.B.Asleep = false
	time.Sleep(time.Millisecond) // until the domain's goroutine has made a pass with no reader
}
