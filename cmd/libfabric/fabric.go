//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"context"
	"math"
	"time"
	"unsafe"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
)

// This file has fabrics, domains and wait sets (fi_fabric(3), fi_domain(3), fi_poll(3)).

// fabric and domain store the API version that the program passed to GetInfo, because some structures are shorter
// in older versions.
type fabric struct {
	*core.Fabric
	api core.Version
}

type domain struct {
	*core.Domain
	f      *fabric
	format core.AddrFormat
	info   *core.Info
	inlet  *inlet // nil: receives are posted at once
}

// open adds a new object to the table and stores a pointer to it in the program's variable. On an error it closes
// the object.
func open(obj core.Object, of any, class C.size_t, context unsafe.Pointer, out *unsafe.Pointer) C.int {
	o := &object{core: obj, of: of}
	if err := insert(o, class, context); err != nil {
		obj.Close()
		return C.int(status(err))
	}
	*out = o.fid
	return 0
}

// anyMode returns hints for a fabric that accept all modes of its provider. The program's own modes follow with the
// domain.
func anyMode(a *core.FabricAttr) *core.Info {
	d := &core.DomainAttr{Mode: math.MaxUint64}
	if !a.APIVersion.Before(1, 5) {
		d.MRMode = math.MaxUint32 &^ (core.MRModeBasic | core.MRModeScalable)
	}
	return &core.Info{Mode: math.MaxUint64, Fabric: a, Domain: d}
}

//export goFabric
func goFabric(abi C.int, attr *C.struct_fi_fabric_attr, out *unsafe.Pointer, flags C.uint64_t, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	refuse(attr == nil || out == nil || flags != 0)
	a := fromFabric(attr, int(abi))
	refuse(a.ProvName == "")
	info, err := search(anyMode(&core.FabricAttr{Name: a.Name, ProvName: a.ProvName, APIVersion: a.APIVersion}))
	if err != nil { // the Info of an address without an interface, such as 0.0.0.0, has another fabric name
		if info, err = search(anyMode(&core.FabricAttr{ProvName: a.ProvName, APIVersion: a.APIVersion})); err != nil {
			if core.ErrnoOf(err) == core.ErrNoData {
				return -C.int(core.ErrNoDev) // no such provider
			}
			return C.int(status(err))
		}
		info = info.Dup()
		info.Fabric.Name = a.Name
	}
	f, err := gofabric.OpenFabric(info)
	fail(err)
	api := a.APIVersion
	if api == 0 {
		api = core.V(1, 0)
	}
	rc = open(f, &fabric{Fabric: f, api: api}, C.FI_CLASS_FABRIC, context, out)
	if rc == 0 {
		(*C.struct_fid_fabric)(*out).api_version = C.uint32_t(api)
	}
	return rc
}

//export goDomain
func goDomain(id C.uint64_t, info *C.struct_fi_info, out *unsafe.Pointer, context unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	f := must[*fabric](id)
	refuse(info == nil || out == nil)
	i, err := infoOf(info)
	fail(err)
	fail(offersDomain(i))
	d, err := f.OpenDomain(i)
	fail(err)
	return open(d, &domain{Domain: d, f: f, format: i.AddrFormat, info: i, inlet: newInlet(d)}, C.FI_CLASS_DOMAIN, context, out)
}

//export goWaitOpen
func goWaitOpen(id C.uint64_t, attr *C.struct_fi_wait_attr, out *unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	f := must[*fabric](id)
	refuse(attr == nil || out == nil)
	w, err := f.OpenWait(core.WaitAttr{WaitObj: core.WaitObj(attr.wait_obj), Flags: uint64(attr.flags)})
	fail(err)
	return open(w, &waiter{w}, C.FI_CLASS_WAIT, nil, out)
}

type waiter struct{ *core.WaitSet }

//export goWaitWait
func goWaitWait(id C.uint64_t, timeout C.int) (rc C.int) {
	defer guard(&rc)
	w := must[*waiter](id)
	ctx, cancel := deadline(timeout)
	defer cancel()
	return C.int(status(w.Wait(ctx)))
}

// deadline returns the context of a C timeout in milliseconds. A negative one is infinite.
func deadline(timeout C.int) (context.Context, context.CancelFunc) {
	if timeout < 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), time.Duration(timeout)*time.Millisecond)
}

//export goTryWait
func goTryWait(id C.uint64_t, fids *unsafe.Pointer, count C.int) (rc C.int) {
	defer guard(&rc)
	f := must[*fabric](id)
	refuse(count < 0 || (fids == nil && count > 0))
	objs := make([]core.Object, 0, 8)
	for _, fid := range unsafe.Slice(fids, int(count)) {
		o := objectAt(fid)
		refuse(o == nil)
		if q, ok := o.of.(*queue); ok && q.ahead() {
			return -C.FI_EAGAIN
		}
		objs = append(objs, o.core)
	}
	for _, o := range objs {
		switch o.(type) {
		case *core.CompletionQueue, *core.EventQueue, *core.Counter, *core.WaitSet:
		default:
			return -C.FI_ENOSYS
		}
	}
	return C.int(status(f.TryWait(objs...)))
}

//export goQueryAtomic
func goQueryAtomic(id C.uint64_t, dt, op C.int, attr *C.struct_fi_atomic_attr, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(attr == nil)
	a, err := d.QueryAtomic(core.Datatype(dt), core.AtomicOp(op), core.AtomicFlags(flags))
	if err == nil {
		attr.count, attr.size = toSize(a.Count), toSize(a.Size)
	}
	return C.int(status(err))
}

//export goQueryCollective
func goQueryCollective(id C.uint64_t, coll C.int, attr *C.struct_fi_collective_attr, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(attr == nil)
	a := core.CollectiveAttr{Op: core.AtomicOp(attr.op), Type: core.Datatype(attr.datatype), Mode: uint64(attr.mode)}
	err := d.QueryCollective(core.CollectiveOp(coll), &a, uint64(flags))
	if err == nil {
		attr.datatype_attr.count, attr.datatype_attr.size, attr.max_members = toSize(a.Attr.Count), toSize(a.Attr.Size), toSize(a.MaxMembers)
	}
	return C.int(status(err))
}
