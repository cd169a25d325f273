//go:build linux

package main

/*
#include <stdbool.h>
#include "gf.h"
*/
import "C"

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"gofabric/core"
)

// This file has endpoints of all kinds, and connections (fi_endpoint(3), fi_cm(3)).

// endpoint is an active or scalable endpoint, one of its contexts, or a shared receive context. For the last, ep is
// nil.
type endpoint struct {
	ep  *core.Endpoint
	srx *core.SharedRx
	sep *core.ScalableEndpoint // nil unless it is scalable; ep is its own part
	rx  core.Receiver

	d     *domain         // its inlet may hold receives
	c     *C.struct_gf_ep // the C side while it may leave receives; the domain's lock guards it and the next two
	late  late            // takes receives from the inlet
	taken uint32          // number of receives taken from the inlet

	format  core.AddrFormat
	txFlags core.OpFlags // default flags of transmits, for calls that pass core flags

	mu     sync.Mutex
	groups map[core.FIAddr]int // numbers of members of the joined groups, by address
}

// members returns the number of members of a joined group, 0 if the endpoint has not joined it.
func (e *endpoint) members(coll core.FIAddr) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.groups[coll]
}

func (e *endpoint) joined(mc *core.MC, s *core.AVSet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.groups == nil {
		e.groups = map[core.FIAddr]int{}
	}
	e.groups[mc.Addr()] = len(s.Members())
}

func newEndpoint(d *domain, ep *core.Endpoint, format core.AddrFormat) *endpoint {
	return &endpoint{d: d, ep: ep, rx: ep, format: format}
}

// enabled stores the attributes that are final once the endpoint is enabled.
func (e *endpoint) enabled() {
	if e.ep != nil {
		e.txFlags, _ = e.ep.OpFlags(core.BindTransmit)
	}
}

//export goEndpoint
func goEndpoint(id C.uint64_t, info *C.struct_fi_info, out *unsafe.Pointer, scalable C.int, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(info == nil || out == nil)
	i, err := infoOf(info)
	fail(err)
	if scalable != 0 {
		fail(d.offers(i))
		ep, err := d.OpenScalable(i)
		fail(err)
		e := newEndpoint(d, &ep.Endpoint, i.AddrFormat)
		e.sep = ep
		return open(ep, e, C.FI_CLASS_SEP, context, out)
	}
	fail(d.offers(i))
	ep, err := d.OpenEndpoint(i)
	fail(err)
	if o := objectAt(unsafe.Pointer(info.handle)); o != nil {
		if _, ok := o.of.(*request); ok {
			remove(o) // the endpoint owns it now
			info.handle = nil
		}
	}
	return open(ep, newEndpoint(d, ep, i.AddrFormat), C.FI_CLASS_EP, context, out)
}

//export goTxContext
func goTxContext(id C.uint64_t, index C.int, attr *C.struct_fi_tx_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(out == nil)
	if e.sep == nil {
		return -C.FI_ENOSYS
	}
	a := fromTx(attr, newestABI)
	ep, err := e.sep.TxContext(int(index), a)
	fail(err)
	if a != nil {
		fillTx(attr, a)
	}
	return open(ep, newEndpoint(e.d, ep, e.format), C.FI_CLASS_TX_CTX, context, out)
}

//export goRxContext
func goRxContext(id C.uint64_t, index C.int, attr *C.struct_fi_rx_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(out == nil)
	if e.sep == nil {
		return -C.FI_ENOSYS
	}
	a := fromRx(attr)
	ep, err := e.sep.RxContext(int(index), a)
	fail(err)
	if a != nil {
		fillRx(attr, a)
	}
	return open(ep, newEndpoint(e.d, ep, e.format), C.FI_CLASS_RX_CTX, context, out)
}

//export goSRX
func goSRX(id C.uint64_t, attr *C.struct_fi_rx_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(out == nil)
	s, err := d.OpenSRX(fromRx(attr))
	fail(err)
	e := &endpoint{d: d, srx: s, rx: s}
	if rc = open(s, e, C.FI_CLASS_SRX_CTX, context, out); rc == 0 {
		e.mayLeave((*C.struct_gf_ep)(*out)) // a shared receive context needs no enable
	}
	return rc
}

//export goSTX
func goSTX(id C.uint64_t, attr *C.struct_fi_tx_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(out == nil)
	s, err := d.OpenSTX(fromTx(attr, newestABI))
	fail(err)
	return open(s, s, C.FI_CLASS_STX_CTX, context, out)
}

// passive is a passive endpoint.
type passive struct {
	*core.PassiveEndpoint
	format core.AddrFormat
}

//export goPassiveEP
func goPassiveEP(id C.uint64_t, info *C.struct_fi_info, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	f := must[*fabric](id)
	refuse(info == nil || out == nil)
	i, err := infoOf(info)
	fail(err)
	p, err := f.OpenPassiveEndpoint(i)
	fail(err)
	return open(p, &passive{p, i.AddrFormat}, C.FI_CLASS_PEP, context, out)
}

// control is fi_control for endpoints.
func (e *endpoint) control(o *object, command C.int, arg unsafe.Pointer) error {
	e.settle() // with the flags that were valid at their post
	if command == C.FI_ALIAS {
		a := (*C.struct_fi_alias)(arg)
		if a.fid == nil {
			return core.ErrInval
		}
		dir, op := directed(uint64(a.flags))
		ep, err := e.ep.Alias(dir, op)
		if err != nil {
			return err
		}
		alias := newEndpoint(e.d, ep, e.format)
		alias.enabled()
		var fid unsafe.Pointer
		if rc := open(ep, alias, o.class(), (*C.struct_fid)(o.fid).context, &fid); rc != 0 {
			return core.Errno(-rc)
		}
		*a.fid = (*C.struct_fid)(fid)
		alias.trigger((*C.struct_gf_ep)(fid), dir, op)
		return nil
	}
	flags := (*uint64)(arg)
	dir, op := directed(*flags)
	if command == C.FI_GETOPSFLAG {
		f, err := e.ep.OpFlags(dir)
		if err == nil {
			*flags = uint64(f)
		}
		return err
	}
	err := e.ep.SetOpFlags(dir, op)
	e.enabled()
	e.renewRoom()
	return err
}

// directed splits the flags of fi_ep_alias and FI_SETOPSFLAG, which contain a direction and operation flags
// (fi_endpoint(3)).
func directed(flags uint64) (dir core.BindFlags, op core.OpFlags) {
	dir = core.BindFlags(flags) & (core.BindTransmit | core.BindRecv)
	return dir, core.OpFlags(flags &^ uint64(dir))
}

// trigger records in the C side of an alias that its calls are triggered.
func (e *endpoint) trigger(c *C.struct_gf_ep, dir core.BindFlags, flags core.OpFlags) {
	switch {
	case flags&core.OpTrigger == 0:
	case dir == core.BindTransmit:
		c.tx_trigger = C.uint64_t(flags)
		e.txFlags |= core.OpTrigger
	default:
		c.rx_trigger = C.uint64_t(flags)
	}
}

//export goCancel
func goCancel(id C.uint64_t, context C.uint64_t) (rc C.ssize_t) {
	defer guard(&rc)
	e := settled(id)
	refuse(e == nil)
	if e.ep == nil {
		return C.ssize_t(status(e.srx.Cancel(core.OpContext(context))))
	}
	return C.ssize_t(status(e.ep.Cancel(core.OpContext(context))))
}

// optioned is an object with options.
type optioned interface {
	GetOpt(opt core.EPOpt) (int, error)
	SetOpt(opt core.EPOpt, value int) error
}

// optSize returns the size of an option's value in C, in bytes.
func optSize(opt core.EPOpt) int {
	switch opt {
	case core.OptHMemP2P:
		return int(unsafe.Sizeof(C.int(0)))
	case core.OptXPUTrigger, core.OptCUDAAPIPermitted, core.OptSharedMemoryPermitted, core.OptFirewallAddr:
		return int(unsafe.Sizeof(C.bool(false)))
	}
	return int(unsafe.Sizeof(C.size_t(0)))
}

//export goGetOpt
func goGetOpt(id C.uint64_t, level, name C.int, val unsafe.Pointer, n *C.size_t) (rc C.int) {
	defer guard(&rc)
	t, ok := coreOf[optioned](id)
	refuse(!ok || val == nil || n == nil)
	if level != 0 {
		return -C.int(core.ErrNoProtoOpt)
	}
	v, err := t.GetOpt(core.EPOpt(name))
	fail(err)
	b := binary.NativeEndian.AppendUint64(nil, uint64(toSize(v)))[:optSize(core.EPOpt(name))]
	return C.int(status(giveBytes(b, val, n)))
}

//export goSetOpt
func goSetOpt(id C.uint64_t, level, name C.int, val unsafe.Pointer, n C.size_t) (rc C.int) {
	defer guard(&rc)
	t, ok := coreOf[optioned](id)
	refuse(!ok || val == nil)
	settled(id)
	if level != 0 {
		return -C.int(core.ErrNoProtoOpt)
	}
	if int(n) != optSize(core.EPOpt(name)) {
		if _, err := t.GetOpt(core.EPOpt(name)); core.ErrnoOf(err) == core.ErrNoProtoOpt {
			return -C.int(core.ErrNoProtoOpt)
		}
		return -C.FI_EINVAL
	}
	var b [8]byte
	copy(b[:], unsafe.Slice((*byte)(val), int(n)))
	return C.int(status(t.SetOpt(core.EPOpt(name), fromSize(C.size_t(binary.NativeEndian.Uint64(b[:]))))))
}

//export goSizeLeft
func goSizeLeft(id C.uint64_t, tx C.int) (rc C.ssize_t) {
	defer guard(&rc)
	e := settled(id)
	refuse(e == nil)
	if e.ep == nil {
		return -C.FI_ENOSYS
	}
	f := e.ep.RxSizeLeft
	if tx != 0 {
		f = e.ep.TxSizeLeft
	}
	n, err := f()
	if err != nil {
		return C.ssize_t(status(err))
	}
	return C.ssize_t(n)
}

// formatOf returns the address format of an active or passive endpoint.
func formatOf(o *object) core.AddrFormat {
	switch t := o.of.(type) {
	case *endpoint:
		return t.format
	case *passive:
		return t.format
	}
	return core.FormatUnspec
}

//export goSetName
func goSetName(id C.uint64_t, addr unsafe.Pointer, n C.size_t) (rc C.int) {
	defer guard(&rc)
	o := find(id)
	refuse(o == nil || addr == nil)
	t, ok := o.core.(interface{ SetName(core.Addr) error })
	if !ok {
		return -C.FI_ENOSYS
	}
	a := fromAddr(addr, n, formatOf(o))
	refuse(a.IsZero())
	return C.int(status(t.SetName(a)))
}

//export goGetName
func goGetName(id C.uint64_t, buf unsafe.Pointer, n *C.size_t, peer C.int) (rc C.int) {
	defer guard(&rc)
	o := find(id)
	refuse(o == nil || n == nil)
	var get func() (core.Addr, error)
	if t, ok := o.core.(interface{ Peer() (core.Addr, error) }); ok && peer != 0 {
		get = t.Peer
	} else if t, ok := o.core.(interface{ Name() (core.Addr, error) }); ok && peer == 0 {
		get = t.Name
	} else {
		return -C.FI_ENOSYS
	}
	a, err := get()
	if err == nil {
		err = giveBytes(encodeAddr(a), buf, n)
	}
	return C.int(status(err))
}

// connected returns the status of a call of connection management. A success enables the endpoint (fi_endpoint(3)).
func (e *endpoint) connected(id C.uint64_t, err error) C.int {
	if o := find(id); o != nil && err == nil && e.c == nil {
		e.enabled()
		e.mayLeave((*C.struct_gf_ep)(o.fid))
	}
	return C.int(status(err))
}

// private returns the private data of a connection call.
func private(p unsafe.Pointer, n C.size_t) []byte { return memory(p, min(n, 1<<20)) }

//export goConnect
func goConnect(id C.uint64_t, addr, param unsafe.Pointer, n C.size_t) (rc C.int) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(e.ep == nil)
	a, _ := addrAt(addr, e.format)
	return e.connected(id, e.ep.Connect(a, private(param, n)))
}

// active returns the status of a call of passive endpoints for another object.
func active(id C.uint64_t) C.int {
	refuse(find(id) == nil)
	return -C.FI_ENOSYS
}

//export goListen
func goListen(id C.uint64_t) (rc C.int) {
	defer guard(&rc)
	p := lookup[*passive](id)
	if p == nil {
		return active(id)
	}
	return C.int(status(p.Listen()))
}

//export goAccept
func goAccept(id C.uint64_t, param unsafe.Pointer, n C.size_t) (rc C.int) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(e.ep == nil)
	return e.connected(id, e.ep.Accept(private(param, n)))
}

//export goReject
func goReject(id, handle C.uint64_t, param unsafe.Pointer, n C.size_t) (rc C.int) {
	defer guard(&rc)
	p, o := lookup[*passive](id), find(handle)
	if p == nil {
		return active(id)
	}
	r := must[*request](handle)
	err := p.Reject(r.info.Handle, private(param, n))
	if err == nil {
		remove(o)
	}
	return C.int(status(err))
}

//export goShutdown
func goShutdown(id C.uint64_t) (rc C.int) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(e.ep == nil)
	e.leavesNoMore() // from now on a receive fails in its call
	return C.int(status(e.ep.Shutdown()))
}

//export goJoin
func goJoin(id C.uint64_t, addr unsafe.Pointer, flags C.uint64_t, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	e := must[*endpoint](id)
	refuse(e.ep == nil || addr == nil || out == nil)
	var mc *core.MC
	var err error
	if how := core.JoinFlags(flags); how&core.JoinCollective != 0 {
		a := (*C.struct_fi_collective_addr)(addr)
		o := objectAt(unsafe.Pointer(a.set))
		refuse(o == nil)
		s, ok := o.of.(*set)
		refuse(!ok)
		mc, err = e.ep.JoinCollective(core.FIAddr(a.coll_addr), s.AVSet, how&^core.JoinCollective, fromContext(context))
		if err == nil {
			e.joined(mc, s.AVSet)
		}
	} else {
		a, _ := addrAt(addr, e.format)
		mc, err = e.ep.Join(a, how, fromContext(context))
	}
	fail(err)
	if rc = open(mc, mc, C.FI_CLASS_MC, context, out); rc == 0 {
		(*C.struct_fid_mc)(*out).fi_addr = C.fi_addr_t(mc.Addr())
	}
	return rc
}
