//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"gofabric/core"
)

// This file has transfers (fi_msg(3), fi_tagged(3), fi_rma(3)).

// ofTransmits are flags without a meaning for receives. Programs that use one set of flags for both directions pass
// them, and native ignores them.
const ofTransmits = core.OpInject | core.OpRemoteCQData | core.OpInjectComplete | core.OpTransmitComplete | core.OpDeliveryComplete | core.OpCommitComplete |
	core.OpMatchComplete | core.OpFence

// transmitter returns the endpoint of a number, which can send.
func transmitter(id C.uint64_t) *core.Endpoint {
	e := must[*endpoint](id)
	refuse(e.ep == nil)
	return e.ep
}

//export goRecv
func goRecv(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc C.uint64_t, src C.fi_addr_t, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	e := settled(id)
	refuse(e == nil)
	return C.ssize_t(e.posted(e.rx.Recv(landing(buf, n), core.Desc(desc), core.FIAddr(src), core.OpContext(ctx))))
}

//export goSend
func goSend(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc C.uint64_t, dest C.fi_addr_t, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.Send(buffer(buf, n), core.Desc(desc), core.FIAddr(dest), core.OpContext(ctx))))
}

//export goInject
func goInject(id C.uint64_t, buf unsafe.Pointer, n C.size_t, dest C.fi_addr_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.Inject(buffer(buf, n), core.FIAddr(dest))))
}

//export goSendData
func goSendData(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc, data C.uint64_t, dest C.fi_addr_t, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.SendData(buffer(buf, n), core.Desc(desc), uint64(data), core.FIAddr(dest), core.OpContext(ctx))))
}

//export goInjectData
func goInjectData(id C.uint64_t, buf unsafe.Pointer, n C.size_t, data C.uint64_t, dest C.fi_addr_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.InjectData(buffer(buf, n), uint64(data), core.FIAddr(dest))))
}

//export goTRecv
func goTRecv(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc C.uint64_t, src C.fi_addr_t, tag, ignore, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	e := settled(id)
	refuse(e == nil)
	return C.ssize_t(e.posted(e.rx.TRecv(landing(buf, n), core.Desc(desc), core.FIAddr(src), uint64(tag), uint64(ignore), core.OpContext(ctx))))
}

//export goTSend
func goTSend(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc C.uint64_t, dest C.fi_addr_t, tag, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.TSend(buffer(buf, n), core.Desc(desc), core.FIAddr(dest), uint64(tag), core.OpContext(ctx))))
}

//export goTInject
func goTInject(id C.uint64_t, buf unsafe.Pointer, n C.size_t, dest C.fi_addr_t, tag C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.TInject(buffer(buf, n), core.FIAddr(dest), uint64(tag))))
}

//export goTSendData
func goTSendData(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc, data C.uint64_t, dest C.fi_addr_t, tag, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.TSendData(buffer(buf, n), core.Desc(desc), uint64(data), core.FIAddr(dest), uint64(tag), core.OpContext(ctx))))
}

//export goTInjectData
func goTInjectData(id C.uint64_t, buf unsafe.Pointer, n C.size_t, data C.uint64_t, dest C.fi_addr_t, tag C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.TInjectData(buffer(buf, n), uint64(data), core.FIAddr(dest), uint64(tag))))
}

//export goRead
func goRead(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc C.uint64_t, src C.fi_addr_t, addr, key, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.Read(buffer(buf, n), core.Desc(desc), core.FIAddr(src), uint64(addr), uint64(key), core.OpContext(ctx))))
}

//export goWrite
func goWrite(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc C.uint64_t, dest C.fi_addr_t, addr, key, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.Write(buffer(buf, n), core.Desc(desc), core.FIAddr(dest), uint64(addr), uint64(key), core.OpContext(ctx))))
}

//export goWriteData
func goWriteData(id C.uint64_t, buf unsafe.Pointer, n C.size_t, desc, data C.uint64_t, dest C.fi_addr_t, addr, key, ctx C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.WriteData(buffer(buf, n), core.Desc(desc), uint64(data), core.FIAddr(dest), uint64(addr), uint64(key), core.OpContext(ctx))))
}

//export goInjectWrite
func goInjectWrite(id C.uint64_t, buf unsafe.Pointer, n C.size_t, dest C.fi_addr_t, addr, key C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.InjectWrite(buffer(buf, n), core.FIAddr(dest), uint64(addr), uint64(key))))
}

//export goInjectWriteData
func goInjectWriteData(id C.uint64_t, buf unsafe.Pointer, n C.size_t, data C.uint64_t, dest C.fi_addr_t, addr, key C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	return C.ssize_t(status(ep.InjectWriteData(buffer(buf, n), uint64(data), core.FIAddr(dest), uint64(addr), uint64(key))))
}

// args has the memory for the arguments of one call with arrays. It is reused when the call has returned.
type args struct {
	iov, result, compare          [][]byte
	desc, resultDesc, compareDesc []core.Desc
	rma                           []core.RMAIov
	ioc                           []core.RMAIoc
	msg                           core.MsgArgs
	tagged                        core.TaggedArgs
	rmaArgs                       core.RMAArgs
	atomic                        core.AtomicArgs
	trigger                       core.TriggeredContext
}

var argPool = sync.Pool{New: func() any { return new(args) }}

// drop returns a to the pool, without pointers into the program's memory.
func (a *args) drop() {
	clear(a.iov)
	clear(a.result)
	clear(a.compare)
	a.msg, a.tagged, a.rmaArgs, a.atomic, a.trigger = core.MsgArgs{}, core.TaggedArgs{}, core.RMAArgs{}, core.AtomicArgs{}, core.TriggeredContext{}
	argPool.Put(a)
}

// descs reads a desc array, which may be absent.
func descs(out []core.Desc, p *unsafe.Pointer, n C.size_t) []core.Desc {
	if p == nil {
		return nil
	}
	for _, d := range unsafe.Slice(p, int(n)) {
		out = append(out, core.Desc(uintptr(d)))
	}
	return out
}

// triggered reads the fi_triggered_context that is the context of a call with FI_TRIGGER.
func (a *args) triggered(flags core.OpFlags, context unsafe.Pointer) *core.TriggeredContext {
	if flags&core.OpTrigger == 0 {
		return nil
	}
	refuse(context == nil)
	c := (*C.struct_fi_triggered_context)(context)
	a.trigger = core.TriggeredContext{EventType: core.TriggerEvent(c.event_type), Threshold: uint64(c.trigger.threshold)}
	if a.trigger.EventType == core.TriggerThreshold {
		o := objectAt(unsafe.Pointer(c.trigger.cntr))
		refuse(o == nil)
		a.trigger.Cntr, _ = o.core.(*core.Counter)
	}
	return &a.trigger
}

// badArray reports whether p cannot be an array of n elements.
func badArray(p unsafe.Pointer, n C.size_t) bool { return n > maxIOV || (p == nil && n > 0) }

// fillIOV reads the buffers of a call. A receive that only peeks or discards has none; it ignores the program's.
func (a *args) fillIOV(iov *C.struct_iovec, desc *unsafe.Pointer, n C.size_t, flags core.OpFlags) {
	if flags&(core.OpPeek|core.OpDiscard) != 0 {
		n = 0
	}
	a.iov, a.desc = vectors(a.iov[:0], iov, n), descs(a.desc[:0], desc, n)
}

func (a *args) fillMsg(m *C.struct_fi_msg, flags core.OpFlags) {
	refuse(badArray(unsafe.Pointer(m.msg_iov), m.iov_count))
	a.fillIOV(m.msg_iov, m.desc, m.iov_count, flags)
	a.msg = core.MsgArgs{IOV: a.iov, Desc: a.desc, Addr: core.FIAddr(m.addr), Ctx: fromContext(m.context), Data: uint64(m.data), Trigger: a.triggered(flags, m.context)}
}

//export goMsgV
func goMsgV(id C.uint64_t, op C.int, m *C.struct_fi_msg, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(m == nil || (e.ep == nil && op >= C.GF_SENDV))
	if op < C.GF_SENDV {
		e.settle()
	}
	a := argPool.Get().(*args)
	defer a.drop()
	of := core.OpFlags(flags)
	a.fillMsg(m, of)
	var err error
	switch op {
	case C.GF_RECVV:
		err = e.rx.RecvV(a.iov, a.desc, a.msg.Addr, a.msg.Ctx)
	case C.GF_RECVMSG:
		err = e.rx.RecvMsg(&a.msg, of&^ofTransmits)
	case C.GF_SENDV:
		err = e.ep.SendV(a.iov, a.desc, a.msg.Addr, a.msg.Ctx)
	default:
		err = e.ep.SendMsg(&a.msg, of)
	}
	if op < C.GF_SENDV {
		return C.ssize_t(e.posted(err))
	}
	return C.ssize_t(status(err))
}

func (a *args) fillTagged(m *C.struct_fi_msg_tagged, flags core.OpFlags) {
	refuse(badArray(unsafe.Pointer(m.msg_iov), m.iov_count))
	a.fillIOV(m.msg_iov, m.desc, m.iov_count, flags)
	a.tagged = core.TaggedArgs{IOV: a.iov, Desc: a.desc, Addr: core.FIAddr(m.addr), Tag: uint64(m.tag), Ignore: uint64(m.ignore), Ctx: fromContext(m.context),
		Data: uint64(m.data), Trigger: a.triggered(flags, m.context)}
}

//export goTaggedV
func goTaggedV(id C.uint64_t, op C.int, m *C.struct_fi_msg_tagged, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(m == nil || (e.ep == nil && op >= C.GF_SENDV))
	if op < C.GF_SENDV {
		e.settle()
	}
	a := argPool.Get().(*args)
	defer a.drop()
	of := core.OpFlags(flags)
	a.fillTagged(m, of)
	var err error
	t := &a.tagged
	switch op {
	case C.GF_RECVV:
		err = e.rx.TRecvV(a.iov, a.desc, t.Addr, t.Tag, t.Ignore, t.Ctx)
	case C.GF_RECVMSG:
		err = e.rx.TRecvMsg(t, of&^ofTransmits)
	case C.GF_SENDV:
		err = e.ep.TSendV(a.iov, a.desc, t.Addr, t.Tag, t.Ctx)
	default:
		err = e.ep.TSendMsg(t, of)
	}
	if op < C.GF_SENDV {
		return C.ssize_t(e.posted(err))
	}
	return C.ssize_t(status(err))
}

func (a *args) fillRMA(m *C.struct_fi_msg_rma, flags core.OpFlags) {
	refuse(badArray(unsafe.Pointer(m.msg_iov), m.iov_count) || badArray(unsafe.Pointer(m.rma_iov), m.rma_iov_count))
	a.iov, a.desc, a.rma = vectors(a.iov[:0], m.msg_iov, m.iov_count), descs(a.desc[:0], m.desc, m.iov_count), a.rma[:0]
	for _, r := range unsafe.Slice(m.rma_iov, int(m.rma_iov_count)) {
		a.rma = append(a.rma, core.RMAIov{Addr: uint64(r.addr), Len: uint64(r.len), Key: uint64(r.key)})
	}
	a.rmaArgs = core.RMAArgs{IOV: a.iov, Desc: a.desc, Addr: core.FIAddr(m.addr), RMAIOV: a.rma, Ctx: fromContext(m.context), Data: uint64(m.data), Trigger: a.triggered(flags, m.context)}
}

//export goRMAV
func goRMAV(id C.uint64_t, op C.int, m *C.struct_fi_msg_rma, flags C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	ep := transmitter(id)
	refuse(m == nil)
	a := argPool.Get().(*args)
	defer a.drop()
	of := core.OpFlags(flags)
	a.fillRMA(m, of)
	var err error
	r := &a.rmaArgs
	switch op {
	case C.GF_RECVV:
		err = ep.ReadV(a.iov, a.desc, r.Addr, a.rma[0].Addr, a.rma[0].Key, r.Ctx)
	case C.GF_RECVMSG:
		err = ep.ReadMsg(r, of)
	case C.GF_SENDV:
		err = ep.WriteV(a.iov, a.desc, r.Addr, a.rma[0].Addr, a.rma[0].Key, r.Ctx)
	default:
		err = ep.WriteMsg(r, of)
	}
	return C.ssize_t(status(err))
}
