package record

import (
	"strings"

	"gofabric/core"
	"gofabric/util/hook"
)

// endpoint is an active endpoint, one of the contexts of a scalable one, or an alias. CloseWrite is not recorded,
// because libfabric has no such call.
type endpoint struct {
	hook.Endpoint
	object
}

// endpoint returns an endpoint above another.
func (o object) endpoint(below core.EndpointDriver) core.EndpointDriver {
	return &endpoint{hook.Endpoint{EndpointDriver: below}, o.over(below)}
}

func (e *endpoint) Enable() error { return e.r.do("fi_enable", e.Endpoint.Enable) }

func (e *endpoint) Bind(obj any, flags core.BindFlags) error {
	switch obj.(type) {
	case core.CQDriver:
		return with(e.r, "fi_ep_bind", flags, func(flags core.BindFlags) error { return e.Endpoint.Bind(obj, flags) })
	case core.CounterDriver:
		return e.r.do("fi_ep_bind", func() error {
			err := e.Endpoint.Bind(obj, Mask(e.r, "fi_ep_bind_counter", flags))
			e.r.bits("fi_ep_bind_counter", uint64(flags), err)
			return err
		})
	}
	return e.r.do("fi_ep_bind", func() error { return e.Endpoint.Bind(obj, flags) })
}

func (e *endpoint) Cancel(ctx core.OpContext) error {
	return e.r.do("fi_cancel", func() error { return e.Endpoint.Cancel(ctx) })
}

func (e *endpoint) Alias(dir core.BindFlags, flags core.OpFlags) (core.EndpointDriver, error) {
	return openWith(e.r, "fi_ep_alias", flags,
		func(flags core.OpFlags) (core.EndpointDriver, error) { return e.Endpoint.Alias(dir, flags) }, e.endpoint)
}

func (e *endpoint) GetOpt(opt core.EPOpt) (int, error) { return e.r.getOpt(opt, e.Endpoint.GetOpt) }

func (e *endpoint) SetOpt(opt core.EPOpt, value int) error {
	return e.r.setOpt(opt, value, e.Endpoint.SetOpt)
}

func (e *endpoint) OpFlags(dir core.BindFlags) (core.OpFlags, error) {
	return get(e.r, "FI_GETOPSFLAG", func() (core.OpFlags, error) { return e.Endpoint.OpFlags(dir) })
}

func (e *endpoint) SetOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	return with(e.r, "FI_SETOPSFLAG", flags,
		func(flags core.OpFlags) error { return e.Endpoint.SetOpFlags(dir, flags) })
}

func (e *endpoint) SizeLeft(dir core.BindFlags) (int, error) {
	name := "fi_tx_size_left"
	if dir == core.BindRecv {
		name = "fi_rx_size_left"
	}
	return get(e.r, name, func() (int, error) { return e.Endpoint.SizeLeft(dir) })
}

func (e *endpoint) Name() (core.Addr, error) { return get(e.r, "fi_getname", e.Endpoint.Name) }

func (e *endpoint) SetName(a core.Addr) error {
	return e.r.do("fi_setname", func() error { return e.Endpoint.SetName(a) })
}

func (e *endpoint) Peer() (core.Addr, error) { return get(e.r, "fi_getpeer", e.Endpoint.Peer) }

func (e *endpoint) Connect(dest core.Addr, param []byte) error {
	return e.r.do("fi_connect", func() error { return e.Endpoint.Connect(dest, param) })
}

func (e *endpoint) Accept(param []byte) error {
	return e.r.do("fi_accept", func() error { return e.Endpoint.Accept(param) })
}

func (e *endpoint) Shutdown() error { return e.r.do("fi_shutdown", e.Endpoint.Shutdown) }

func (e *endpoint) Post(op core.Op) error { return e.r.post(op, e.Endpoint.Post) }

// post posts a transfer and records it. The plain, v and msg variants of an atomic operation count as one call here.
func (r *Recorder) post(op core.Op, post func(core.Op) error) error {
	name, atomic := op.Call.String(), op.Call.Op() >= core.OpAtomic
	if base, ok := strings.CutSuffix(name, "atomicmsg"); ok && op.Flags == 0 {
		if name = base + "atomic"; len(op.IOV) > 1 {
			name += "v"
		}
	}
	if r.Lacks(name) || atomic && (r.hides("datatype", uint64(op.Type)) || r.hides("atomic_op", uint64(op.Oper))) {
		return nil
	}
	flags := op.Flags
	op.Flags = Mask(r, name, flags)
	err := post(op)
	if atomic {
		r.value("datatype", uint64(op.Type), err)
		r.value("atomic_op", uint64(op.Oper), err)
	}
	return noteFlags(r, name, flags, err)
}

// counts are the calls that return the number of operands.
var counts = [...]string{
	core.OpAtomic:        "fi_atomicvalid",
	core.OpFetchAtomic:   "fi_fetch_atomicvalid",
	core.OpCompareAtomic: "fi_compare_atomicvalid",
}

func (e *endpoint) AtomicCount(what core.OpType, dt core.Datatype, op core.AtomicOp) (int, error) {
	return get(e.r, counts[what], func() (int, error) { return e.Endpoint.AtomicCount(what, dt, op) })
}

// collectives are the calls of collective operations. fi_barrier counts as fi_barrier2 without flags.
var collectives = [...]string{
	core.CollBarrier:       "fi_barrier2",
	core.CollBroadcast:     "fi_broadcast",
	core.CollAllToAll:      "fi_alltoall",
	core.CollAllReduce:     "fi_allreduce",
	core.CollAllGather:     "fi_allgather",
	core.CollReduceScatter: "fi_reduce_scatter",
	core.CollReduce:        "fi_reduce",
	core.CollScatter:       "fi_scatter",
	core.CollGather:        "fi_gather",
}

func (e *endpoint) Collective(op core.CollOp) error {
	name := collectives[op.Op]
	if op.Plain {
		name = "fi_barrier"
	}
	return with(e.r, name, op.Flags, func(flags core.OpFlags) error {
		op.Flags = flags
		return e.Endpoint.Collective(op)
	})
}

func (e *endpoint) JoinCollective(coll core.FIAddr, set core.AVSetDriver, flags core.JoinFlags, ctx any,
	made func(core.MCDriver) *core.MC) error {
	if e.r.Lacks("fi_join_collective") {
		return core.ErrNoSys
	}
	return e.r.call("fi_join_collective", e.Endpoint.JoinCollective(coll, set, flags, ctx, e.group(made)))
}

// Join is fi_join(3), if the endpoint below has it.
func (e *endpoint) Join(addr core.Addr, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	if e.r.Lacks("fi_join") {
		return core.ErrNoSys
	}
	return noteFlags(e.r, "fi_join", flags, e.Endpoint.Join(addr, Mask(e.r, "fi_join", flags), ctx, e.group(made)))
}

// group wraps a group of the endpoint below.
func (e *endpoint) group(made func(core.MCDriver) *core.MC) func(core.MCDriver) *core.MC {
	return func(below core.MCDriver) *core.MC { return made(&group{hook.MC{MCDriver: below}, e.over(below)}) }
}

// group is a membership in a multicast or collective group.
type group struct {
	hook.MC
	object
}

func (g *group) Addr() core.FIAddr { return value(g.r, "fi_mc_addr", g.MC.Addr) }

// scalable is a scalable endpoint.
type scalable struct {
	endpoint
	contexts core.ScalableDriver
}

// Bind is fi_scalable_ep_bind for address vectors.
func (s *scalable) Bind(obj any, flags core.BindFlags) error {
	if _, ok := obj.(core.AVDriver); ok {
		return s.r.do("fi_scalable_ep_bind", func() error { return s.Endpoint.Bind(obj, flags) })
	}
	return s.endpoint.Bind(obj, flags)
}

func (s *scalable) TxContext(index int, attr *core.TxAttr) (core.EndpointDriver, error) {
	return open(s.r, "fi_tx_context", func() (core.EndpointDriver, error) {
		return s.contexts.TxContext(index, s.r.strippedTx(attr))
	}, s.object.endpoint)
}

func (s *scalable) RxContext(index int, attr *core.RxAttr) (core.EndpointDriver, error) {
	return open(s.r, "fi_rx_context", func() (core.EndpointDriver, error) {
		return s.contexts.RxContext(index, s.r.strippedRx(attr))
	}, s.object.endpoint)
}

// sharedRx is a shared receive context.
type sharedRx struct {
	hook.SRX
	object
}

func (x *sharedRx) Bind(obj any, flags core.BindFlags) error {
	if _, ok := obj.(core.CQDriver); ok {
		return with(x.r, "fi_ep_bind", flags, func(flags core.BindFlags) error { return x.SRX.Bind(obj, flags) })
	}
	return x.r.do("fi_ep_bind", func() error { return x.SRX.Bind(obj, flags) })
}

func (x *sharedRx) Post(op core.Op) error { return x.r.post(op, x.SRX.Post) }

func (x *sharedRx) Cancel(ctx core.OpContext) error {
	return x.r.do("fi_cancel", func() error { return x.SRX.Cancel(ctx) })
}

func (x *sharedRx) GetOpt(opt core.EPOpt) (int, error) { return x.r.getOpt(opt, x.SRX.GetOpt) }

func (x *sharedRx) SetOpt(opt core.EPOpt, value int) error {
	return x.r.setOpt(opt, value, x.SRX.SetOpt)
}

type sharedTx struct {
	hook.STX
	object
}
