//go:build linux

package main

/*
#include "gf.h"
*/
import "C"

import (
	"encoding/binary"
	"unsafe"

	"gofabric/core"
)

// This file has memory regions (fi_mr(3)).

// memory returns C memory as a slice. It belongs to the program: Go does not keep it alive.
func memory(p unsafe.Pointer, n C.size_t) []byte {
	if p == nil || n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(p), int(n))
}

// buffer returns memory that must exist unless its length is 0. As an empty buffer, the call would succeed and move
// no data.
func buffer(p unsafe.Pointer, n C.size_t) []byte {
	refuse(p == nil && n > 0)
	return memory(p, n)
}

// landing returns the memory into which fi_recv(3) and fi_trecv(3) put a message. NULL is allowed for messages
// without data, with any length: programs that only exchange such messages pass it (fabtests' fi_shared_ctx -e
// msg). Other messages are truncated there, and the completion says so.
func landing(p unsafe.Pointer, n C.size_t) []byte { return memory(p, n) }

// vectors appends the memory of an iovec array to out.
func vectors(out [][]byte, iov *C.struct_iovec, n C.size_t) [][]byte {
	for _, v := range unsafe.Slice(iov, int(n)) {
		out = append(out, buffer(v.iov_base, v.iov_len))
	}
	return out
}

// maxIOV bounds arrays in calls. A longer one is FI_EINVAL.
const maxIOV = 1024

//export goMRReg
func goMRReg(id C.uint64_t, attr *C.struct_fi_mr_attr, flags C.uint64_t, out *unsafe.Pointer, whole C.int) (rc C.int) {
	defer guard(&rc)
	d := must[*domain](id)
	refuse(attr == nil || out == nil || attr.iov_count > maxIOV || (attr.mr_iov == nil && attr.iov_count > 0))
	a := core.MRAttr{IOV: vectors(nil, attr.mr_iov, attr.iov_count), Access: core.Access(attr.access), Offset: uint64(attr.offset),
		RequestedKey: uint64(attr.requested_key), Flags: core.MRFlags(flags)}
	if whole != 0 && d.f.api >= core.V(1, 5) {
		fail(d.authorize(&a, attr))
	}
	m, err := d.RegMR(&a)
	fail(err)
	if rc = open(m, m, C.FI_CLASS_MR, attr.context, out); rc == 0 {
		c := (*C.struct_fid_mr)(*out)
		c.mem_desc, c.key = pointer(core.OpContext(m.Desc())), C.uint64_t(m.Key())
	}
	return rc
}

// authorize reads the key of a region. In a domain whose keys are in vectors it is a vector (struct
// fi_mr_auth_key).
func (d *domain) authorize(a *core.MRAttr, attr *C.struct_fi_mr_attr) error {
	if d.f.api >= core.V(1, 10) && attr.iface != 0 {
		return core.ErrNoSys // memory of an accelerator
	}
	if attr.auth_key == nil || attr.auth_key_size == 0 {
		return nil
	}
	if d.info.Domain.AuthKeySize == core.AVAuthKey && attr.auth_key_size == C.size_t(unsafe.Sizeof(C.struct_fi_mr_auth_key{})) {
		k := (*C.struct_fi_mr_auth_key)(unsafe.Pointer(attr.auth_key))
		o := objectAt(unsafe.Pointer(k.av))
		if o == nil {
			return core.ErrInval
		}
		a.AuthAV, _ = o.core.(*core.AddressVector)
		return nil
	}
	if attr.auth_key_size > core.MaxAuthKey {
		return core.ErrInval
	}
	a.AuthKey, _ = fromKey(attr.auth_key, attr.auth_key_size)
	return nil
}

// rawKey is FI_GET_RAW_MR. Raw keys have eight bytes here, as other keys.
func rawKey(m *core.MemoryRegion, out *C.struct_fi_mr_raw_attr) error {
	if out.base_addr != nil {
		*out.base_addr = C.uint64_t(m.Base())
	}
	return giveBytes(binary.NativeEndian.AppendUint64(nil, m.Key()), unsafe.Pointer(out.raw_key), out.key_size)
}

// mapRaw is FI_MAP_RAW_MR and FI_UNMAP_KEY.
func mapRaw(_ *domain, command C.int, arg unsafe.Pointer) error {
	if command == C.FI_UNMAP_KEY {
		return nil
	}
	m := (*C.struct_fi_mr_map_raw)(arg)
	if m.raw_key == nil || m.key == nil || m.key_size != 8 {
		return core.ErrInval
	}
	*m.key = C.uint64_t(binary.NativeEndian.Uint64(unsafe.Slice((*byte)(unsafe.Pointer(m.raw_key)), 8)))
	return nil
}
