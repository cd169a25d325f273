//go:build linux

package main

/*
#include <stdlib.h>
#include "gf.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"gofabric/av"
	"gofabric/core"
)

// This file has address vectors and sets of addresses (fi_av(3), fi_av_set(3)).

type vector struct {
	*core.AddressVector
	format core.AddrFormat
	named  unsafe.Pointer // C memory: the fi_addr_t of each index of a shared vector
}

func (v *vector) closed() { C.free(v.named) }

// mapAddr returns fi_av_attr.map_addr of a shared vector: as in native, an array with the fi_addr_t of each index,
// which here is the index itself. It has attr.count entries, or a default number.
func (v *vector) mapAddr(count int) unsafe.Pointer {
	count = min(max(count, 1024), 1<<20)
	v.named = C.malloc(C.size_t(count) * C.size_t(unsafe.Sizeof(C.fi_addr_t(0))))
	if v.named != nil {
		array := indices((*C.fi_addr_t)(v.named), count)
		for i := range array {
			array[i] = core.FIAddr(i)
		}
	}
	return v.named
}

//export goAVOpen
func goAVOpen(id C.uint64_t, attr *C.struct_fi_av_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(attr == nil || out == nil || attr._type < 0)
	a := core.AVAttr{Type: core.AVType(attr._type), RxCtxBits: int(attr.rx_ctx_bits), Count: fromSize(attr.count), EPPerNode: fromSize(attr.ep_per_node),
		Name: fromStr(attr.name), MapAddr: uint64(uintptr(attr.map_addr)), Flags: core.AVFlags(attr.flags)}
	v, err := d.OpenAV(a)
	fail(err)
	attr._type = C.int(v.Attr().Type)
	own := &vector{AddressVector: v, format: d.format}
	if a.Name != "" {
		attr.map_addr = own.mapAddr(a.Count)
	}
	return open(v, own, C.FI_CLASS_AV, context, out)
}

// indices returns the program's fi_addr_t array, nil if it has none.
func indices(p *C.fi_addr_t, n int) []core.FIAddr {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*core.FIAddr)(unsafe.Pointer(p)), n)
}

// maxInsert bounds the number of addresses of one call.
const maxInsert = 1 << 28

//export goAVInsert
func goAVInsert(id C.uint64_t, addr unsafe.Pointer, count C.size_t, fi *C.fi_addr_t, flags C.uint64_t, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	refuse(count > maxInsert || (addr == nil && count > 0) || (flags&C.uint64_t(core.InsertSyncErr) != 0 && context == nil))
	addrs := make([]core.Addr, int(count))
	list := unsafe.Pointer(addr)
	for i := range addrs {
		if v.format == core.FormatStr { // an array of pointers
			addrs[i], _ = addrAt(*(*unsafe.Pointer)(list), v.format)
			list = unsafe.Add(list, unsafe.Sizeof(list))
			continue
		}
		var n int
		if addrs[i], n = addrAt(list, v.format); n == 0 {
			n = sockaddrInLen
			if v.format == core.FormatSockaddrIn6 {
				n = sockaddrIn6Len
			}
		}
		list = unsafe.Add(list, n)
	}
	how := core.InsertFlags(flags)
	n, err := v.Insert(addrs, indices(fi, len(addrs)), how, fromContext(context))
	return inserted(n, err, how, context, len(addrs))
}

// inserted returns the result of an insertion: the number of addresses. With FI_SYNC_ERR the context is an array
// for the error of each address.
func inserted(n int, err error, flags core.InsertFlags, context unsafe.Pointer, count int) C.int {
	if flags&core.InsertSyncErr != 0 && context != nil {
		codes := unsafe.Slice((*C.int)(context), count)
		clear(codes)
		var each *av.InsertError
		if errors.As(err, &each) {
			for i, e := range each.Errs {
				if i < count {
					codes[i] = C.int(core.ErrnoOf(e))
				}
			}
			return C.int(n)
		}
	}
	if err != nil && n == 0 {
		return C.int(status(err))
	}
	return C.int(n)
}

//export goAVInsertSym
func goAVInsertSym(id C.uint64_t, node *C.char, nodes C.size_t, service *C.char, services C.size_t, fi *C.fi_addr_t, flags C.uint64_t, context unsafe.Pointer,
	single C.int) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	refuse(nodes > maxInsert || services > maxInsert || nodes*services > maxInsert)
	count, how := int(nodes*services), core.InsertFlags(flags)
	out := indices(fi, count)
	if single != 0 {
		a, err := v.InsertSvc(fromStr(node), fromStr(service), how, fromContext(context))
		if len(out) == 1 {
			out[0] = a
		}
		n := 1
		if err != nil || v.Attr().Flags&core.AVEvent != 0 {
			n = 0
		}
		return inserted(n, err, how, context, 1)
	}
	n, err := v.InsertSym(fromStr(node), int(nodes), fromStr(service), int(services), out, how, fromContext(context))
	return inserted(n, err, how, context, count)
}

//export goAVRemove
func goAVRemove(id C.uint64_t, fi *C.fi_addr_t, count C.size_t, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	refuse(count > maxInsert || (fi == nil && count > 0))
	return C.int(status(v.Remove(indices(fi, int(count)), core.InsertFlags(flags))))
}

//export goAVLookup
func goAVLookup(id C.uint64_t, fi C.fi_addr_t, buf unsafe.Pointer, n *C.size_t) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	a, err := v.Lookup(core.FIAddr(fi))
	if err == nil {
		if err = giveBytes(encodeAddr(a), buf, n); err == core.ErrTooSmall {
			err = nil // the address is truncated, as its length shows
		}
	}
	return C.int(status(err))
}

//export goAVStrAddr
func goAVStrAddr(id C.uint64_t, addr unsafe.Pointer, buf *C.char, n *C.size_t) (out *C.char) {
	v := lookup[*vector](id)
	if v == nil || n == nil {
		return nil
	}
	a, _ := addrAt(addr, v.format)
	text := v.StrAddr(a)
	if buf != nil && *n > 0 {
		giveText(text, buf, *n)
	}
	*n = C.size_t(len(text) + 1)
	return buf
}

//export goAVInsertAuthKey
func goAVInsertAuthKey(id C.uint64_t, key unsafe.Pointer, n C.size_t, fi *C.fi_addr_t, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	refuse(fi == nil || key == nil || n > core.MaxAuthKey)
	a, err := v.InsertAuthKey(C.GoBytes(key, C.int(n)), core.InsertFlags(flags))
	if err == nil {
		*fi = C.fi_addr_t(a)
	}
	return C.int(status(err))
}

//export goAVLookupAuthKey
func goAVLookupAuthKey(id C.uint64_t, fi C.fi_addr_t, key unsafe.Pointer, n *C.size_t) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	b, err := v.LookupAuthKey(core.FIAddr(fi))
	if err == nil {
		err = giveBytes(b, key, n)
	}
	return C.int(status(err))
}

//export goAVSetUserID
func goAVSetUserID(id C.uint64_t, fi, user C.fi_addr_t, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	return C.int(status(v.SetUserID(core.FIAddr(fi), core.FIAddr(user), core.InsertFlags(flags))))
}

// set is a set of addresses.
type set struct{ *core.AVSet }

//export goAVSet
func goAVSet(id C.uint64_t, attr *C.struct_fi_av_set_attr, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	v := must[*vector](id)
	refuse(out == nil || attr == nil)
	a := core.AVSetAttr{Count: fromSize(attr.count), StartAddr: core.FIAddr(attr.start_addr), EndAddr: core.FIAddr(attr.end_addr), Stride: uint64(attr.stride),
		Flags: core.AVSetFlags(attr.flags)}
	if attr.comm_key != nil && attr.comm_key_size > 0 {
		a.CommKey = C.GoBytes(unsafe.Pointer(attr.comm_key), C.int(min(attr.comm_key_size, 4096)))
	}
	s, err := v.OpenSet(a)
	fail(err)
	return open(s, &set{s}, C.FI_CLASS_AV_SET, context, out)
}

//export goAVSetWith
func goAVSetWith(dst C.uint64_t, op C.int, src C.uint64_t) (rc C.int) {
	defer guard(&rc)
	d, s := lookup[*set](dst), lookup[*set](src)
	refuse(d == nil || s == nil)
	f := [...]func(*core.AVSet) error{d.Union, d.Intersect, d.Diff}[op]
	return C.int(status(f(s.AVSet)))
}

//export goAVSetMember
func goAVSetMember(id C.uint64_t, op C.int, a C.fi_addr_t) (rc C.int) {
	defer guard(&rc)
	s := must[*set](id)
	f := [...]func(core.FIAddr) error{s.Insert, s.Remove}[op]
	return C.int(status(f(core.FIAddr(a))))
}

//export goAVSetAddr
func goAVSetAddr(id C.uint64_t, out *C.fi_addr_t) (rc C.int) {
	defer guard(&rc)
	s := must[*set](id)
	*out = C.fi_addr_t(s.Addr())
	return 0
}
