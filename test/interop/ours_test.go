package interop

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
	"gofabric/provider/udp"
	"gofabric/test/conform"
	"gofabric/util/fault"
	reliable "gofabric/util/rxd"
	connected "gofabric/util/rxm"
)

// This file has our end of a link. It does what testdata/peer.c does at the other end, with the same buffers and keys.

const bufSize = 4 << 20

// ours is an endpoint of this module with the buffers tx, rx and mem.
type ours struct {
	fabric *core.Fabric
	domain *core.Domain
	cq     *core.CompletionQueue
	eq     *core.EventQueue
	av     *core.AddressVector
	pep    *core.PassiveEndpoint
	ep     *core.Endpoint
	info   *core.Info
	dest   core.FIAddr
	req    *core.Info      // the latest connection request
	cntrs  []*core.Counter // in the order of counted; empty if there are none
	opened []core.Object

	tx, rx, mem []byte
	inbox
}

func openOurs(t *testing.T, provider string, kind core.EPType, more core.Caps) *ours {
	t.Helper()
	o := &ours{dest: core.AddrUnspec, tx: make([]byte, bufSize), rx: make([]byte, bufSize), mem: make([]byte, bufSize)}
	t.Cleanup(func() {
		if err := gofabric.CloseAll(o.opened...); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	if err := o.open(provider, kind, more); err != nil {
		t.Fatal(err)
	}
	return o
}

// keep remembers an object that must be closed.
func keep[T core.Object](o *ours, into *T, open func() (T, error)) error {
	obj, err := open()
	if err == nil {
		*into = obj
		o.opened = append(o.opened, obj)
	}
	return err
}

func (o *ours) open(provider string, kind core.EPType, more core.Caps) error {
	h := core.NewHints()
	h.Caps = core.CapMsg | core.CapRMA | core.CapAtomic | core.CapFence | more
	if kind == core.EPTypeRDM {
		h.Caps |= core.CapTagged
	}
	if n := os.Getenv("FI_OFI_RXM_NUM_MSG_EPS"); n != "" && n != "1" {
		h.Caps &^= core.CapFence // fences do not work over several connections
	}
	if strings.HasSuffix(provider, "rxd") {
		h.Caps |= core.CapRMAEvent | core.CapMultiRecv
	}
	h.Fabric.ProvName, h.EP.Type, h.AddrFormat = provider, kind, core.FormatSockaddrIn
	// The module reads FI_* once per process. Here each end reads the values that its test has set.
	params, err := core.NewParams(os.LookupEnv, "")
	if err != nil {
		return err
	}
	machine := &host.Host{Timeout: time.Second}
	t, err := tcp.New(params, machine)
	u, errU := udp.New(params, machine)
	r, errR := reliable.New(params, machine)
	m, errM := connected.New(params, machine)
	f, errF := fault.New(params, machine)
	if err := errors.Join(err, errU, errR, errM, errF); err != nil {
		return err
	}
	registry := core.NewRegistry(m, r, f, u, t)
	infos, _, err := core.GetInfo(registry, machine, params,
		core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: h})
	if err != nil {
		return err
	}
	o.info = infos[0]
	err = errors.Join(
		keep(o, &o.fabric, func() (*core.Fabric, error) { return core.OpenFabric(registry, o.info) }),
		keep(o, &o.domain, func() (*core.Domain, error) { return o.fabric.OpenDomain(o.info) }),
		keep(o, &o.cq, func() (*core.CompletionQueue, error) {
			return o.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
		}),
		o.reg(o.mem, core.AccessRemoteRead|core.AccessRemoteWrite, keyAll),
		o.reg(o.mem[bufSize/2:], core.AccessRemoteRead|core.AccessRemoteWrite, keyHalf),
		o.reg(o.mem, core.AccessRemoteRead, keyReadOnly),
	)
	if err != nil {
		return err
	}
	if kind == core.EPTypeRDM {
		err := keep(o, &o.av, func() (*core.AddressVector, error) { return o.domain.OpenAV(core.AVAttr{}) })
		for range counted {
			if strings.HasSuffix(provider, "rxd") && err == nil {
				var c *core.Counter
				err = keep(o, &c, func() (*core.Counter, error) { return o.domain.OpenCounter(core.CntrAttr{}) })
				o.cntrs = append(o.cntrs, c)
			}
		}
		if more&core.CapCollective != 0 && err == nil {
			err = keep(o, &o.eq, func() (*core.EventQueue, error) { return o.fabric.OpenEQ(core.EQAttr{}) })
		}
		return errors.Join(err, o.openEP(o.info))
	}
	return errors.Join(
		keep(o, &o.eq, func() (*core.EventQueue, error) { return o.fabric.OpenEQ(core.EQAttr{}) }),
		keep(o, &o.pep, func() (*core.PassiveEndpoint, error) { return o.fabric.OpenPassiveEndpoint(o.info) }),
		o.pep.BindEQ(o.eq, 0), o.pep.Listen(),
	)
}

func (o *ours) reg(b []byte, access core.Access, key uint64) error {
	var mr *core.MemoryRegion
	return keep(o, &mr, func() (*core.MemoryRegion, error) {
		return o.domain.RegMR(&core.MRAttr{IOV: [][]byte{b}, Access: access, RequestedKey: key})
	})
}

func (o *ours) openEP(info *core.Info) error {
	if err := keep(o, &o.ep, func() (*core.Endpoint, error) { return o.domain.OpenEndpoint(info) }); err != nil {
		return err
	}
	err := o.ep.BindCQ(o.cq, core.BindTransmit|core.BindRecv)
	if o.av != nil {
		err = errors.Join(err, o.ep.BindAV(o.av, 0))
	}
	if o.eq != nil {
		err = errors.Join(err, o.ep.BindEQ(o.eq, 0))
	}
	for i, c := range o.cntrs {
		err = errors.Join(err, o.ep.BindCounter(c, counted[i]))
	}
	return errors.Join(err, o.ep.Enable())
}

func (o *ours) name() (string, error) {
	a, err := core.Addr{}, error(nil)
	if o.pep != nil {
		a, err = o.pep.Name()
	} else {
		a, err = o.ep.Name()
	}
	return fmt.Sprint(a.IP.Port()), err
}

func local(port string) core.Addr { return core.IPAddr(netip.MustParseAddrPort("127.0.0.1:" + port)) }

func (o *ours) insert(port string) error {
	fi := make([]core.FIAddr, 1)
	_, err := o.av.Insert([]core.Addr{local(port)}, fi, 0)
	o.dest = fi[0]
	return err
}

func (o *ours) connect(port string, data []byte) error {
	if err := o.openEP(o.info); err != nil {
		return err
	}
	return o.ep.Connect(local(port), data)
}

func (o *ours) accept(data []byte) error {
	if err := o.openEP(o.req); err != nil {
		return err
	}
	return o.ep.Accept(data)
}

func (o *ours) reject(data []byte) error { return o.pep.Reject(o.req.Handle, data) }

func (o *ours) shutdown() error { return o.ep.Shutdown() }

func (o *ours) buffer(name string) []byte {
	return map[string][]byte{"tx": o.tx, "rx": o.rx, "mem": o.mem}[name]
}

func (o *ours) fill(buf string, off, n int, seed uint64) error {
	conform.Fill(o.buffer(buf)[off:off+n], seed)
	return o.release()
}

// release orders earlier accesses to the buffers before those that the peer makes next. The race detector does not see
// the order that the peer establishes. Any call that takes the domain's lock does.
func (o *ours) release() error {
	_, err := o.ep.Name()
	return err
}

func (o *ours) check(buf string, off, n int, seed uint64) error {
	got, want := o.buffer(buf)[off:off+n], conform.Pattern(n, seed)
	if bytes.Equal(got, want) {
		return o.release()
	}
	i := 0
	for got[i] == want[i] {
		i++
	}
	return fmt.Errorf("%s differs from byte %d of %d on", buf, i, n)
}

// progress reads the queues.
func (o *ours) progress() error {
	for {
		e := make([]core.CQEntry, 8)
		n, err := o.cq.Read(e)
		for _, e := range e[:max(n, 0)] {
			o.done = append(o.done, completion{ctx: uint64(e.Ctx), flags: e.Flags,
				length: e.Len, data: e.Data, tag: e.Tag})
		}
		if errors.Is(err, core.ErrAvail) {
			var e core.CQErrEntry
			err = o.cq.ReadErr(&e)
			o.done = append(o.done, completion{uint64(e.Ctx), e.Flags, e.Len, e.Data, e.Tag, e.Err, e.Detail})
		}
		if errors.Is(err, core.ErrAgain) {
			break
		}
		if err != nil {
			return err
		}
	}
	for o.eq != nil {
		var ev core.EQEvent
		err := o.eq.Read(&ev, 0)
		switch {
		case errors.Is(err, core.ErrAgain):
			return nil
		case errors.Is(err, core.ErrAvail):
			var e core.EQErrEntry
			if err := o.eq.ReadErr(&e, 0); err != nil {
				return err
			}
			o.events = append(o.events, event{"error", e.Err, slices.Clone(e.ErrData), e.Detail})
		case err != nil:
			return err
		default:
			if ev.Type == core.EventConnReq {
				o.req = ev.Info
			}
			what := map[core.EQEventType]string{core.EventConnReq: "connreq", core.EventConnected: "connected",
				core.EventShutdown: "shutdown"}[ev.Type]
			o.events = append(o.events, event{what: what, data: slices.Clone(ev.CMData)})
		}
	}
	return nil
}

// try attempts a transfer once.
func (o *ours) try(p op) error {
	b := o.tx[p.off : p.off+p.length]
	if p.receives() || p.reads() {
		b = o.rx[p.off : p.off+p.length]
	}
	iov := splitIOV(b, p.parts)
	ep, d, ctx := o.ep, o.dest, core.OpContext(p.ctx)
	var seg core.RMAIov
	if len(p.segs) > 0 {
		seg = p.segs[0]
	}
	rma := &core.RMAArgs{IOV: iov, Addr: d, RMAIOV: p.segs, Ctx: ctx, Data: p.data}
	calls := map[string]func() error{
		"recvmsg":    func() error { return ep.RecvMsg(&core.MsgArgs{IOV: iov, Addr: core.AddrUnspec, Ctx: ctx}, p.flags) },
		"recv":       func() error { return ep.Recv(b, 0, core.AddrUnspec, ctx) },
		"trecv":      func() error { return ep.TRecv(b, 0, core.AddrUnspec, p.tag, 0, ctx) },
		"send":       func() error { return ep.Send(b, 0, d, ctx) },
		"sendv":      func() error { return ep.SendV(iov, nil, d, ctx) },
		"sendmsg":    func() error { return ep.SendMsg(&core.MsgArgs{IOV: iov, Addr: d, Ctx: ctx, Data: p.data}, p.flags) },
		"senddata":   func() error { return ep.SendData(b, 0, p.data, d, ctx) },
		"inject":     func() error { return ep.Inject(b, d) },
		"injectdata": func() error { return ep.InjectData(b, p.data, d) },
		"tsend":      func() error { return ep.TSend(b, 0, d, p.tag, ctx) },
		"tsendv":     func() error { return ep.TSendV(iov, nil, d, p.tag, ctx) },
		"tsendmsg": func() error {
			return ep.TSendMsg(&core.TaggedArgs{IOV: iov, Addr: d, Tag: p.tag, Ctx: ctx, Data: p.data}, p.flags)
		},
		"tsenddata":        func() error { return ep.TSendData(b, 0, p.data, d, p.tag, ctx) },
		"tinject":          func() error { return ep.TInject(b, d, p.tag) },
		"tinjectdata":      func() error { return ep.TInjectData(b, p.data, d, p.tag) },
		"write":            func() error { return ep.Write(b, 0, d, seg.Addr, seg.Key, ctx) },
		"writev":           func() error { return ep.WriteV(iov, nil, d, seg.Addr, seg.Key, ctx) },
		"writemsg":         func() error { return ep.WriteMsg(rma, p.flags) },
		"writedata":        func() error { return ep.WriteData(b, 0, p.data, d, seg.Addr, seg.Key, ctx) },
		"inject_write":     func() error { return ep.InjectWrite(b, d, seg.Addr, seg.Key) },
		"inject_writedata": func() error { return ep.InjectWriteData(b, p.data, d, seg.Addr, seg.Key) },
		"read":             func() error { return ep.Read(b, 0, d, seg.Addr, seg.Key, ctx) },
		"readv":            func() error { return ep.ReadV(iov, nil, d, seg.Addr, seg.Key, ctx) },
		"readmsg":          func() error { return ep.ReadMsg(rma, p.flags) },
		"atomic":           func() error { return o.atomically(p) },
		"fetch":            func() error { return o.atomically(p) },
		"compare":          func() error { return o.atomically(p) },
	}
	return calls[p.call]()
}
