package core_test

// This file tests the arguments that drivers receive from the calls of endpoints and shared receive contexts.

import (
	"reflect"
	"slices"
	"testing"

	"gofabric/core"
)

// epDriver records the posted operations.
type epDriver struct {
	core.ScalableDriver // calls without a method here panic
	op                  core.Op
	coll                core.CollOp
	posts               int // calls of Post and Collective
	plain               int // other calls
	err                 error
}

func (d *epDriver) Post(op core.Op) error           { d.op, d.posts = op, d.posts+1; return d.err }
func (d *epDriver) Collective(op core.CollOp) error { d.coll, d.posts = op, d.posts+1; return d.err }
func (d *epDriver) short(op core.Op) error          { d.op, d.plain = op, d.plain+1; return d.err }

// plainDriver has its own methods for plain sends and receives. It records what Post would have received.
type plainDriver struct{ epDriver }

func (d *plainDriver) Send(buf []byte, desc core.Desc, dest core.FIAddr, ctx core.OpContext) error {
	return d.short(core.Op{Call: core.CallSend, Buf: buf, Desc: desc, Addr: dest, Ctx: ctx})
}
func (d *plainDriver) TSend(buf []byte, desc core.Desc, dest core.FIAddr, tag uint64, ctx core.OpContext) error {
	return d.short(core.Op{Call: core.CallTSend, Buf: buf, Desc: desc, Addr: dest, Tag: tag, Ctx: ctx})
}
func (d *plainDriver) Inject(buf []byte, dest core.FIAddr) error {
	return d.short(core.Op{Call: core.CallInject, Buf: buf, Addr: dest})
}
func (d *plainDriver) TInject(buf []byte, dest core.FIAddr, tag uint64) error {
	return d.short(core.Op{Call: core.CallTInject, Buf: buf, Addr: dest, Tag: tag})
}
func (d *plainDriver) Recv(buf []byte, desc core.Desc, src core.FIAddr, ctx core.OpContext) error {
	return d.short(core.Op{Call: core.CallRecv, Buf: buf, Desc: desc, Addr: src, Ctx: ctx})
}
func (d *plainDriver) TRecv(buf []byte, desc core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.OpContext) error {
	return d.short(core.Op{Call: core.CallTRecv, Buf: buf, Desc: desc, Addr: src, Tag: tag, Ignore: ignore, Ctx: ctx})
}

// srxDriver and plainSRX are the corresponding drivers of shared receive contexts.
type (
	srxDriver struct {
		core.SRXDriver
		ep *epDriver
	}
	plainSRX struct {
		srxDriver
		*plainDriver
	}
)

func (s srxDriver) Post(op core.Op) error { return s.ep.Post(op) }

// isPlain reports whether plainDriver has its own method for the call.
func isPlain(c core.Call) bool {
	return slices.Contains([]core.Call{core.CallSend, core.CallTSend, core.CallInject, core.CallTInject, core.CallRecv,
		core.CallTRecv}, c)
}

// cntrDriver is the driver of a counter. A number identifies it.
type cntrDriver struct {
	core.CounterDriver
	number int
}

// opDomain opens the objects that a test gives it, and records deferred work.
type opDomain struct {
	core.DomainDriver
	ep       core.ScalableDriver
	srx      core.SRXDriver
	av       core.AVDriver
	counters int
	work     core.Work
	canceled core.OpContext
	flushed  core.CounterDriver
}

type opFabric struct {
	core.FabricDriver
	d *opDomain
}

func (f opFabric) OpenDomain(*core.Info) (core.DomainDriver, error) { return f.d, nil }

func (d *opDomain) OpenEndpoint(*core.Info, *core.Endpoint) (core.EndpointDriver, error) {
	return d.ep, nil
}
func (d *opDomain) OpenScalable(*core.Info, *core.ScalableEndpoint) (core.ScalableDriver, error) {
	return d.ep, nil
}
func (d *opDomain) OpenAV(core.AVAttr, *core.AddressVector) (core.AVDriver, error) {
	return d.av, nil
}
func (d *opDomain) OpenSRX(*core.RxAttr) (core.SRXDriver, error) { return d.srx, nil }
func (d *opDomain) OpenCounter(core.CntrAttr, core.WaitDriver) (core.CounterDriver, error) {
	d.counters++
	return &cntrDriver{number: d.counters}, nil
}
func (d *opDomain) QueueWork(w core.Work) error          { d.work = w; return nil }
func (d *opDomain) CancelWork(ctx core.OpContext) error  { d.canceled = ctx; return nil }
func (d *opDomain) FlushWork(c core.CounterDriver) error { d.flushed = c; return nil }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *opDomain) open(t testing.TB) *core.Domain {
	t.Helper()
	o, err := core.NewFabric(opFabric{d: d}).OpenDomain(nil)
	check(t, err)
	return o
}

// The arguments differ from each other, and none is 0.
const (
	opCtx     core.OpContext = 101
	opPeer    core.FIAddr    = 102
	opTag                    = 103
	opIgnore                 = 104
	opData                   = 105
	opDesc    core.Desc      = 106
	opAddr                   = 107
	opKey                    = 108
	opFlags                  = core.OpMore | core.OpCompletion
	joinFlags                = core.JoinSend | core.JoinRecv
	opType                   = core.Int64
	opOper                   = core.AtomicProd
)

var (
	opBuf     = []byte("buffer")
	opIOV     = [][]byte{[]byte("one"), []byte("and two")}
	opDescs   = []core.Desc{111, 112}
	opRMA     = []core.RMAIov{{Addr: 113, Len: 114, Key: 115}, {Addr: 116, Len: 117, Key: 118}}
	opRMC     = []core.RMAIoc{{Addr: 119, Count: 120, Key: 121}}
	opResult  = [][]byte{[]byte("result")}
	opResDesc = []core.Desc{122}
	opComp    = [][]byte{[]byte("compare"), nil}
	opCmpDesc = []core.Desc{123, 124}
)

// arguments has the arguments of the msg variants. All have a condition.
type arguments struct {
	msg    *core.MsgArgs
	tagged *core.TaggedArgs
	rma    *core.RMAArgs
	atomic *core.AtomicArgs
	cond   core.Condition // as drivers receive it
}

func newArguments(t testing.TB, d *core.Domain) *arguments {
	t.Helper()
	c, err := d.OpenCounter(core.CntrAttr{})
	check(t, err)
	trigger := &core.TriggeredContext{EventType: core.TriggerXPU, Cntr: c, Threshold: 125}
	return &arguments{
		msg: &core.MsgArgs{IOV: opIOV, Desc: opDescs, Addr: opPeer, Ctx: opCtx, Data: opData, Trigger: trigger},
		tagged: &core.TaggedArgs{IOV: opIOV, Desc: opDescs, Addr: opPeer, Tag: opTag, Ignore: opIgnore, Ctx: opCtx,
			Data: opData, Trigger: trigger},
		rma: &core.RMAArgs{IOV: opIOV, Desc: opDescs, Addr: opPeer, RMAIOV: opRMA, Ctx: opCtx, Data: opData,
			Trigger: trigger},
		atomic: &core.AtomicArgs{IOV: opIOV, Desc: opDescs, Addr: opPeer, RMAIOC: opRMC, Type: opType, Op: opOper,
			Ctx: opCtx, Data: opData, Trigger: trigger},
		cond: core.Condition{Event: core.TriggerXPU, Cntr: &cntrDriver{number: 1}, Threshold: 125},
	}
}

// transfer is a call of a method, with the arguments that the driver must receive.
type transfer struct {
	method string
	post   func(e *core.Endpoint) error
	name   string // of the call in C
	kind   core.OpType
	want   core.Op
}

// transfers returns every data transfer call except receives.
func (a *arguments) transfers() []transfer {
	one := core.Op{Buf: opBuf, Addr: opPeer}
	call := func(c core.Call, change func(*core.Op)) core.Op {
		op := one
		op.Call = c
		change(&op)
		return op
	}
	rma := func(op *core.Op) { op.RMA = core.RMAIov{Addr: opAddr, Len: uint64(len(opBuf)), Key: opKey} }
	return slices.Concat(a.sends(), []transfer{
		{"Read", func(e *core.Endpoint) error { return e.Read(opBuf, opDesc, opPeer, opAddr, opKey, opCtx) }, "fi_read",
			core.OpRead, call(core.CallRead, func(op *core.Op) { rma(op); op.Desc, op.Ctx = opDesc, opCtx })},
		{"ReadV", func(e *core.Endpoint) error { return e.ReadV(opIOV, opDescs, opPeer, opAddr, opKey, opCtx) },
			"fi_readv", core.OpRead, core.Op{Call: core.CallReadV, IOV: opIOV, Descs: opDescs, Addr: opPeer,
				RMA: core.RMAIov{Addr: opAddr, Len: 10, Key: opKey}, Ctx: opCtx}},
		{"ReadMsg", func(e *core.Endpoint) error { return e.ReadMsg(a.rma, opFlags) }, "fi_readmsg", core.OpRead,
			core.Op{Call: core.CallReadMsg, IOV: opIOV, Descs: opDescs, Addr: opPeer, RMAIOV: opRMA, Ctx: opCtx,
				Data: opData, Flags: opFlags, Trigger: a.cond}},
		{"Write", func(e *core.Endpoint) error { return e.Write(opBuf, opDesc, opPeer, opAddr, opKey, opCtx) },
			"fi_write", core.OpWrite, call(core.CallWrite,
				func(op *core.Op) { rma(op); op.Desc, op.Ctx = opDesc, opCtx })},
		{"WriteV", func(e *core.Endpoint) error { return e.WriteV(opIOV, opDescs, opPeer, opAddr, opKey, opCtx) },
			"fi_writev", core.OpWrite, core.Op{Call: core.CallWriteV, IOV: opIOV, Descs: opDescs, Addr: opPeer,
				RMA: core.RMAIov{Addr: opAddr, Len: 10, Key: opKey}, Ctx: opCtx}},
		{"WriteMsg", func(e *core.Endpoint) error { return e.WriteMsg(a.rma, opFlags|core.OpRemoteCQData) },
			"fi_writemsg", core.OpWrite, core.Op{Call: core.CallWriteMsg, IOV: opIOV, Descs: opDescs, Addr: opPeer,
				RMAIOV: opRMA, Ctx: opCtx, Data: opData, Flags: opFlags | core.OpRemoteCQData, Trigger: a.cond}},
		{"WriteData", func(e *core.Endpoint) error { return e.WriteData(opBuf, opDesc, opData, opPeer, opAddr, opKey, opCtx) }, "fi_writedata", core.OpWrite,
			call(core.CallWriteData, func(op *core.Op) { rma(op); op.Desc, op.Ctx, op.Data = opDesc, opCtx, opData })},
		{"InjectWrite", func(e *core.Endpoint) error { return e.InjectWrite(opBuf, opPeer, opAddr, opKey) },
			"fi_inject_write", core.OpWrite, call(core.CallInjectWrite, rma)},
		{"InjectWriteData", func(e *core.Endpoint) error { return e.InjectWriteData(opBuf, opData, opPeer, opAddr, opKey) }, "fi_inject_writedata", core.OpWrite,
			call(core.CallInjectWriteData, func(op *core.Op) { rma(op); op.Data = opData })},
	}, a.atomics())
}

// sends returns the calls that send messages.
func (a *arguments) sends() []transfer {
	return []transfer{
		{"Send", func(e *core.Endpoint) error { return e.Send(opBuf, opDesc, opPeer, opCtx) }, "fi_send", core.OpSend,
			core.Op{Call: core.CallSend, Buf: opBuf, Desc: opDesc, Addr: opPeer, Ctx: opCtx}},
		{"SendV", func(e *core.Endpoint) error { return e.SendV(opIOV, opDescs, opPeer, opCtx) }, "fi_sendv",
			core.OpSend, core.Op{Call: core.CallSendV, IOV: opIOV, Descs: opDescs, Addr: opPeer, Ctx: opCtx}},
		{"SendMsg", func(e *core.Endpoint) error { return e.SendMsg(a.msg, opFlags) }, "fi_sendmsg", core.OpSend,
			core.Op{Call: core.CallSendMsg, IOV: opIOV, Descs: opDescs, Addr: opPeer, Ctx: opCtx, Data: opData,
				Flags: opFlags, Trigger: a.cond}},
		{"SendData", func(e *core.Endpoint) error { return e.SendData(opBuf, opDesc, opData, opPeer, opCtx) },
			"fi_senddata", core.OpSend, core.Op{Call: core.CallSendData, Buf: opBuf, Desc: opDesc, Data: opData,
				Addr: opPeer, Ctx: opCtx}},
		{"Inject", func(e *core.Endpoint) error { return e.Inject(opBuf, opPeer) }, "fi_inject", core.OpSend,
			core.Op{Call: core.CallInject, Buf: opBuf, Addr: opPeer}},
		{"InjectData", func(e *core.Endpoint) error { return e.InjectData(opBuf, opData, opPeer) }, "fi_injectdata",
			core.OpSend, core.Op{Call: core.CallInjectData, Buf: opBuf, Data: opData, Addr: opPeer}},
		{"TSend", func(e *core.Endpoint) error { return e.TSend(opBuf, opDesc, opPeer, opTag, opCtx) }, "fi_tsend",
			core.OpTSend, core.Op{Call: core.CallTSend, Buf: opBuf, Desc: opDesc, Addr: opPeer, Tag: opTag,
				Ctx: opCtx}},
		{"TSendV", func(e *core.Endpoint) error { return e.TSendV(opIOV, opDescs, opPeer, opTag, opCtx) }, "fi_tsendv",
			core.OpTSend, core.Op{Call: core.CallTSendV, IOV: opIOV, Descs: opDescs, Addr: opPeer, Tag: opTag,
				Ctx: opCtx}},
		{"TSendMsg", func(e *core.Endpoint) error { return e.TSendMsg(a.tagged, opFlags|core.OpRemoteCQData) },
			"fi_tsendmsg", core.OpTSend, core.Op{Call: core.CallTSendMsg, IOV: opIOV, Descs: opDescs, Addr: opPeer,
				Tag: opTag, Ctx: opCtx, Data: opData, Flags: opFlags | core.OpRemoteCQData, Trigger: a.cond}},
		{"TSendData", func(e *core.Endpoint) error { return e.TSendData(opBuf, opDesc, opData, opPeer, opTag, opCtx) },
			"fi_tsenddata", core.OpTSend, core.Op{Call: core.CallTSendData, Buf: opBuf, Desc: opDesc, Data: opData,
				Addr: opPeer, Tag: opTag, Ctx: opCtx}},
		{"TInject", func(e *core.Endpoint) error { return e.TInject(opBuf, opPeer, opTag) }, "fi_tinject", core.OpTSend,
			core.Op{Call: core.CallTInject, Buf: opBuf, Addr: opPeer, Tag: opTag}},
		{"TInjectData", func(e *core.Endpoint) error { return e.TInjectData(opBuf, opData, opPeer, opTag) },
			"fi_tinjectdata", core.OpTSend, core.Op{Call: core.CallTInjectData, Buf: opBuf, Data: opData, Addr: opPeer,
				Tag: opTag}},
	}
}

func (a *arguments) atomics() []transfer {
	msg := func(c core.Call) core.Op {
		return core.Op{Call: c, IOV: opIOV, Descs: opDescs, Addr: opPeer, RMAIOC: opRMC, Type: opType, Oper: opOper,
			Ctx: opCtx, Data: opData, Flags: opFlags, Trigger: a.cond}
	}
	fetch, compare := msg(core.CallFetchAtomicMsg), msg(core.CallCompareAtomicMsg)
	fetch.Result, fetch.ResultDescs = opResult, opResDesc
	compare.Result, compare.ResultDescs, compare.Compare, compare.CompareDescs = opResult, opResDesc, opComp, opCmpDesc
	return []transfer{
		{"Atomic", func(e *core.Endpoint) error { return e.Atomic(a.atomic, opFlags) }, "fi_atomicmsg", core.OpAtomic,
			msg(core.CallAtomicMsg)},
		{"FetchAtomic", func(e *core.Endpoint) error { return e.FetchAtomic(a.atomic, opResult, opResDesc, opFlags) },
			"fi_fetch_atomicmsg", core.OpFetchAtomic, fetch},
		{"CompareAtomic", func(e *core.Endpoint) error {
			return e.CompareAtomic(a.atomic, opComp, opCmpDesc, opResult, opResDesc, opFlags)
		}, "fi_compare_atomicmsg", core.OpCompareAtomic, compare},
		{"InjectAtomic", func(e *core.Endpoint) error { return e.InjectAtomic(opBuf, opPeer, opAddr, opKey, opType, opOper) }, "fi_inject_atomic",
			core.OpAtomic, core.Op{Call: core.CallInjectAtomic, Buf: opBuf, Addr: opPeer,
				RMA: core.RMAIov{Addr: opAddr, Key: opKey}, Type: opType, Oper: opOper}},
	}
}

// reception is a receive call of an endpoint or of a shared receive context.
type reception struct {
	method string
	post   func(r core.Receiver) error
	name   string
	kind   core.OpType
	want   core.Op
}

// receives returns every receive call. Receives carry no data.
func (a *arguments) receives() []reception {
	return []reception{
		{"Recv", func(r core.Receiver) error { return r.Recv(opBuf, opDesc, opPeer, opCtx) }, "fi_recv", core.OpRecv,
			core.Op{Call: core.CallRecv, Buf: opBuf, Desc: opDesc, Addr: opPeer, Ctx: opCtx}},
		{"RecvV", func(r core.Receiver) error { return r.RecvV(opIOV, opDescs, opPeer, opCtx) }, "fi_recvv",
			core.OpRecv, core.Op{Call: core.CallRecvV, IOV: opIOV, Descs: opDescs, Addr: opPeer, Ctx: opCtx}},
		{"RecvMsg", func(r core.Receiver) error { return r.RecvMsg(a.msg, opFlags) }, "fi_recvmsg", core.OpRecv,
			core.Op{Call: core.CallRecvMsg, IOV: opIOV, Descs: opDescs, Addr: opPeer, Ctx: opCtx, Flags: opFlags,
				Trigger: a.cond}},
		{"TRecv", func(r core.Receiver) error { return r.TRecv(opBuf, opDesc, opPeer, opTag, opIgnore, opCtx) },
			"fi_trecv", core.OpTRecv, core.Op{Call: core.CallTRecv, Buf: opBuf, Desc: opDesc, Addr: opPeer, Tag: opTag,
				Ignore: opIgnore, Ctx: opCtx}},
		{"TRecvV", func(r core.Receiver) error { return r.TRecvV(opIOV, opDescs, opPeer, opTag, opIgnore, opCtx) },
			"fi_trecvv", core.OpTRecv, core.Op{Call: core.CallTRecvV, IOV: opIOV, Descs: opDescs, Addr: opPeer,
				Tag: opTag, Ignore: opIgnore, Ctx: opCtx}},
		{"TRecvMsg", func(r core.Receiver) error { return r.TRecvMsg(a.tagged, opFlags) }, "fi_trecvmsg", core.OpTRecv,
			core.Op{Call: core.CallTRecvMsg, IOV: opIOV, Descs: opDescs, Addr: opPeer, Tag: opTag, Ignore: opIgnore,
				Ctx: opCtx, Flags: opFlags, Trigger: a.cond}},
	}
}

// all returns every data transfer call of an endpoint.
func (a *arguments) all() []transfer {
	list := a.transfers()
	for _, r := range a.receives() {
		list = append(list, transfer{r.method, func(e *core.Endpoint) error { return r.post(e) }, r.name,
			r.kind, r.want})
	}
	return list
}

// opWorld is an endpoint and a shared receive context with drivers of one kind.
type opWorld struct {
	name   string
	plain  bool      // the drivers have their own methods for plain transfers
	drv    *epDriver // records the calls of both
	domain *opDomain
	d      *core.Domain
	ep     *core.Endpoint
	srx    *core.SharedRx
	args   *arguments
}

func opWorlds(t testing.TB) []*opWorld {
	t.Helper()
	posts, plain := &epDriver{}, &plainDriver{}
	worlds := []*opWorld{
		{name: "post", drv: posts, domain: &opDomain{ep: posts, srx: srxDriver{ep: posts}}},
		{name: "plain", plain: true, drv: &plain.epDriver,
			domain: &opDomain{ep: plain, srx: plainSRX{srxDriver{ep: &plain.epDriver}, plain}}},
	}
	for _, w := range worlds {
		w.d = w.domain.open(t)
		var err error
		w.ep, err = w.d.OpenEndpoint(nil)
		check(t, err)
		w.srx, err = w.d.OpenSRX(nil)
		check(t, err)
		w.args = newArguments(t, w.d)
	}
	return worlds
}

// takes makes a call and checks what the driver received.
func (w *opWorld) takes(t *testing.T, what string, post func() error, want core.Op) {
	t.Helper()
	posts, plain := 1, 0
	if w.plain && isPlain(want.Call) {
		posts, plain = 0, 1
	}
	for _, refusal := range []error{nil, core.ErrAgain} {
		w.drv.op, w.drv.posts, w.drv.plain, w.drv.err = core.Op{}, 0, 0, refusal
		if err := post(); err != refusal {
			t.Errorf("%s, %s: %v, want %v", w.name, what, err, refusal)
		}
		if w.drv.posts != posts || w.drv.plain != plain {
			t.Errorf("%s, %s: %d posts and %d plain calls, want %d and %d", w.name, what, w.drv.posts, w.drv.plain,
				posts, plain)
		}
		if !reflect.DeepEqual(w.drv.op, want) {
			t.Errorf("%s, %s:\n%+v, want\n%+v", w.name, what, w.drv.op, want)
		}
	}
}

// TestTransfers makes all data transfer calls of endpoints and shared receive contexts.
func TestTransfers(t *testing.T) {
	for _, w := range opWorlds(t) {
		for _, c := range w.args.all() {
			w.takes(t, c.method, func() error { return c.post(w.ep) }, c.want)
		}
		for _, c := range w.args.receives() {
			w.takes(t, "shared "+c.method, func() error { return c.post(w.srx) }, c.want)
		}
	}
}

// TestCalls compares the properties of calls with what drivers receive.
func TestCalls(t *testing.T) {
	a := opWorlds(t)[0].args
	seen := map[core.Call]bool{}
	for _, c := range a.all() {
		call, op := c.want.Call, c.want
		if seen[call] {
			t.Errorf("%s: %v is the call of another method", c.method, call)
		}
		seen[call] = true
		if call.String() != c.name || call.Op() != c.kind {
			t.Errorf("%s is %v, an operation %d; want %s, %d", c.method, call, call.Op(), c.name, c.kind)
		}
		msg := op.Flags != 0
		for what, is := range map[string][2]bool{
			"one buffer": {call.OneBuffer(), op.Buf != nil},
			"default":    {call.Default(), !msg && op.Ctx != 0},
			"inject":     {call.Inject(), op.Ctx == 0},
			"receives":   {call.Receives(), c.kind == core.OpRecv || c.kind == core.OpTRecv},
			"tagged":     {call.Tagged(), op.Tag != 0},
			"data":       {op.HasData(), op.Data != 0 && !msg || op.Flags&core.OpRemoteCQData != 0},
		} {
			if is[0] != is[1] {
				t.Errorf("%s, %s: %v, want %v", c.method, what, is[0], is[1])
			}
		}
		want := len(opBuf)
		if op.Buf == nil {
			want = 10
		}
		if n := op.Len(); n != want {
			t.Errorf("%s: %d bytes, want %d", c.method, n, want)
		}
	}
	if last := core.CallInjectAtomic; len(seen) != int(last)+1 {
		t.Errorf("%d calls of %d", len(seen), last+1)
	}
	if op := (core.Op{Call: core.CallRecvMsg, Flags: core.OpRemoteCQData}); op.HasData() {
		t.Error("a receive sends data")
	}
}

// control lists the methods of endpoints that transfer nothing.
var control = []string{"Accept", "Alias", "AtomicValid", "BindAV", "BindCQ", "BindCounter", "BindEQ", "BindSRX",
	"BindSTX", "Cancel", "Close", "CloseWrite", "CompareAtomicValid", "Connect", "Driver", "Enable", "FetchAtomicValid",
	"GetOpt", "Join", "JoinCollective", "Name", "OpFlags", "Peer", "PeerClosed", "RxSizeLeft", "SetName", "SetOpFlags",
	"SetOpt", "Shutdown", "String", "TxSizeLeft"}

// TestAllCalls: the tables of this file and of collective_test.go have every call.
func TestAllCalls(t *testing.T) {
	a := opWorlds(t)[0].args
	known := slices.Clone(control)
	for _, c := range a.all() {
		known = append(known, c.method)
	}
	for _, c := range collectives() {
		known = append(known, c.method)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[*core.Endpoint](), reflect.TypeFor[*core.SharedRx]()} {
		for m := range typ.Methods() {
			if !slices.Contains(known, m.Name) {
				t.Errorf("%v.%s is in no table", typ, m.Name)
			}
		}
	}
}

// TestTransfersAllocateNothing checks that a transfer allocates nothing on its way to the driver.
func TestTransfersAllocateNothing(t *testing.T) {
	for _, w := range opWorlds(t) {
		none := func(what string, post func() error) {
			if n := testing.AllocsPerRun(50, func() { check(t, post()) }); n != 0 {
				t.Errorf("%s, %s: %v allocations", w.name, what, n)
			}
		}
		for _, c := range w.args.all() {
			none(c.method, func() error { return c.post(w.ep) })
		}
		for _, c := range w.args.receives() {
			none("shared "+c.method, func() error { return c.post(w.srx) })
		}
		for _, c := range collectives() {
			none(c.method, func() error { return c.post(w.ep) })
		}
	}
}
