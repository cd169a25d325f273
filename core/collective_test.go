package core_test

import (
	"errors"
	"reflect"
	"testing"

	"gofabric/core"
)

const (
	collGroup core.FIAddr = 201
	collRoot  core.FIAddr = 202
	collCount             = 203
	resDesc   core.Desc   = 204
)

var collResult = []byte("gathered")

// collective is a call of a method, with the arguments that the driver must receive.
type collective struct {
	method string
	post   func(e *core.Endpoint) error
	want   core.CollOp
}

// collectives returns a call of every collective operation.
func collectives() []collective {
	op := func(o core.CollectiveOp, change func(*core.CollOp)) core.CollOp {
		c := core.CollOp{Op: o, Group: collGroup, Buf: opBuf, Count: collCount, Desc: opDesc, Result: collResult,
			ResultDesc: resDesc, Type: opType, Flags: opFlags, Ctx: opCtx}
		change(&c)
		return c
	}
	root := func(c *core.CollOp) { c.Root = collRoot }
	reduced := func(c *core.CollOp) { c.Oper = opOper }
	return []collective{
		{"Barrier", func(e *core.Endpoint) error { return e.Barrier(collGroup, opCtx) },
			core.CollOp{Op: core.CollBarrier, Plain: true, Group: collGroup, Ctx: opCtx}},
		{"Barrier2", func(e *core.Endpoint) error { return e.Barrier2(collGroup, opFlags, opCtx) },
			core.CollOp{Op: core.CollBarrier, Group: collGroup, Flags: opFlags, Ctx: opCtx}},
		{"Broadcast", func(e *core.Endpoint) error {
			return e.Broadcast(opBuf, collCount, opDesc, collGroup, collRoot, opType, opFlags, opCtx)
		}, op(core.CollBroadcast, func(c *core.CollOp) { c.Root, c.Result, c.ResultDesc = collRoot, nil, 0 })},
		{"AllToAll", func(e *core.Endpoint) error {
			return e.AllToAll(opBuf, collCount, opDesc, collResult, resDesc, collGroup, opType, opFlags, opCtx)
		}, op(core.CollAllToAll, func(*core.CollOp) {})},
		{"AllReduce", func(e *core.Endpoint) error {
			return e.AllReduce(opBuf, collCount, opDesc, collResult, resDesc, collGroup, opType, opOper, opFlags, opCtx)
		}, op(core.CollAllReduce, reduced)},
		{"AllGather", func(e *core.Endpoint) error {
			return e.AllGather(opBuf, collCount, opDesc, collResult, resDesc, collGroup, opType, opFlags, opCtx)
		}, op(core.CollAllGather, func(*core.CollOp) {})},
		{"ReduceScatter", func(e *core.Endpoint) error {
			return e.ReduceScatter(opBuf, collCount, opDesc, collResult, resDesc, collGroup, opType, opOper,
				opFlags, opCtx)
		}, op(core.CollReduceScatter, reduced)},
		{"Reduce", func(e *core.Endpoint) error {
			return e.Reduce(opBuf, collCount, opDesc, collResult, resDesc, collGroup, collRoot, opType, opOper,
				opFlags, opCtx)
		}, op(core.CollReduce, func(c *core.CollOp) { root(c); reduced(c) })},
		{"Scatter", func(e *core.Endpoint) error {
			return e.Scatter(opBuf, collCount, opDesc, collResult, resDesc, collGroup, collRoot, opType, opFlags, opCtx)
		}, op(core.CollScatter, root)},
		{"Gather", func(e *core.Endpoint) error {
			return e.Gather(opBuf, collCount, opDesc, collResult, resDesc, collGroup, collRoot, opType, opFlags, opCtx)
		}, op(core.CollGather, root)},
	}
}

// TestCollectives makes all collective calls.
func TestCollectives(t *testing.T) {
	for _, w := range opWorlds(t) {
		for _, c := range collectives() {
			for _, refusal := range []error{nil, core.ErrAgain} {
				w.drv.coll, w.drv.posts, w.drv.err = core.CollOp{}, 0, refusal
				if err := c.post(w.ep); err != refusal || w.drv.posts != 1 {
					t.Errorf("%s: %v after %d posts, want %v after one", c.method, err, w.drv.posts, refusal)
				}
				if !reflect.DeepEqual(w.drv.coll, c.want) {
					t.Errorf("%s:\n%+v, want\n%+v", c.method, w.drv.coll, c.want)
				}
			}
		}
	}
}

// joiner is an endpoint that joins groups.
type joiner struct {
	core.ScalableDriver
	joined []any // arguments
	group  member
	told   *core.MC // the group that the application has
	err    error
}

type member struct{ core.MCDriver }

func (member) Addr() core.FIAddr { return collGroup }

func (j *joiner) made(made func(core.MCDriver) *core.MC, args ...any) error {
	if j.joined = args; j.err == nil {
		j.told = made(j.group)
	}
	return j.err
}

func (j *joiner) JoinCollective(coll core.FIAddr, set core.AVSetDriver, flags core.JoinFlags, ctx any,
	made func(core.MCDriver) *core.MC) error {
	return j.made(made, coll, set, flags, ctx)
}

// multicaster joins multicast groups as well.
type multicaster struct{ *joiner }

func (m multicaster) Join(addr core.Addr, flags core.JoinFlags, ctx any, made func(core.MCDriver) *core.MC) error {
	return m.made(made, addr, flags, ctx)
}

type setDriver struct{ core.AVSetDriver }

type setVector struct{ core.AVDriver }

func (setVector) OpenSet(core.AVSetAttr) (core.AVSetDriver, error) { return setDriver{}, nil }

// TestJoin: the application gets the group that the driver has made, and events can name it.
func TestJoin(t *testing.T) {
	j := &joiner{}
	d := (&opDomain{ep: multicaster{j}, av: setVector{}}).open(t)
	ep, err := d.OpenEndpoint(nil)
	check(t, err)
	v, err := d.OpenAV(core.AVAttr{})
	check(t, err)
	set, err := v.OpenSet(core.AVSetAttr{})
	check(t, err)
	group, err := core.ParseAddr("fi_sockaddr_in://239.1.2.3:4")
	check(t, err)
	for what, c := range map[string]struct {
		join func() (*core.MC, error)
		want []any
	}{
		"collective": {func() (*core.MC, error) { return ep.JoinCollective(collRoot, set, joinFlags, "ctx") },
			[]any{collRoot, setDriver{}, joinFlags, "ctx"}},
		"no set": {func() (*core.MC, error) { return ep.JoinCollective(collRoot, nil, joinFlags, "ctx") },
			[]any{collRoot, nil, joinFlags, "ctx"}},
		"multicast": {func() (*core.MC, error) { return ep.Join(group, joinFlags, "ctx") },
			[]any{group, joinFlags, "ctx"}},
	} {
		j.err = nil
		mc, err := c.join()
		if err != nil || mc == nil || mc != j.told || mc.Addr() != collGroup || !reflect.DeepEqual(j.joined, c.want) {
			t.Errorf("%s: %v, %v, told %v, joined with %v", what, mc, err, j.told, j.joined)
		}
		j.err = core.ErrNoEQ
		if mc, err := c.join(); !errors.Is(err, core.ErrNoEQ) || mc != nil {
			t.Errorf("%s refused: %v, %v", what, mc, err)
		}
	}
	plain, err := (&opDomain{ep: j}).open(t).OpenEndpoint(nil)
	check(t, err)
	if mc, err := plain.Join(group, 0, nil); err != core.ErrNoSys || mc != nil {
		t.Errorf("multicast without: %v, %v", mc, err)
	}
}
