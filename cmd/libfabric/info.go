//go:build linux

package main

/*
#include <stdlib.h>
#include <string.h>
#include "gf.h"
*/
import "C"

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unsafe"

	"gofabric"
	"gofabric/core"
)

// This file converts Infos between C and Go (struct fi_info, fi_getinfo(3)).

// made has the Go Info of each C info that came from this library, because a C info cannot express a layer's lower
// Info and its connection request. A program may change or copy the C info. Then its fields have precedence.
var made = struct {
	sync.Mutex
	of map[uintptr]*core.Info
}{of: map[uintptr]*core.Info{}}

func remember(c *C.struct_fi_info, i *core.Info) {
	made.Lock()
	made.of[uintptr(unsafe.Pointer(c))] = i
	made.Unlock()
}

func origin(c *C.struct_fi_info) *core.Info {
	made.Lock()
	defer made.Unlock()
	return made.of[uintptr(unsafe.Pointer(c))]
}

func forget(c *C.struct_fi_info) {
	made.Lock()
	delete(made.of, uintptr(unsafe.Pointer(c)))
	made.Unlock()
}

// alloc returns zeroed C memory for a T.
func alloc[T any]() *T {
	var t T
	return (*T)(C.calloc(1, C.size_t(unsafe.Sizeof(t))))
}

// toSize and fromSize convert sizes. The largest int stands for SIZE_MAX.
func toSize(n int) C.size_t {
	if n == math.MaxInt {
		return C.SIZE_MAX
	}
	return C.size_t(n)
}

func fromSize(n C.size_t) int { return int(min(uint64(n), math.MaxInt)) }

func toStr(s string) *C.char {
	if s == "" {
		return nil
	}
	return C.CString(s)
}

func fromStr(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

func toBytes(b []byte) *C.uint8_t {
	if len(b) == 0 {
		return nil
	}
	return (*C.uint8_t)(C.CBytes(b))
}

// toInfo returns a C info of i, with everything it points to.
func toInfo(i *core.Info) *C.struct_fi_info {
	c := alloc[C.struct_fi_info]()
	c.caps, c.mode, c.addr_format = C.uint64_t(i.Caps), C.uint64_t(i.Mode), C.uint32_t(i.AddrFormat)
	c.src_addr, c.src_addrlen = toAddr(i.SrcAddr)
	c.dest_addr, c.dest_addrlen = toAddr(i.DestAddr)
	c.tx_attr, c.rx_attr, c.ep_attr = toTx(i.Tx), toRx(i.Rx), toEP(i.EP)
	c.domain_attr, c.fabric_attr, c.nic = toDomain(i.Domain), toFabric(i.Fabric), toNIC(i.NIC)
	if o, ok := i.Handle.(core.Object); ok {
		c.handle = (*C.struct_fid)(fidOf(o))
	}
	remember(c, i)
	return c
}

func toTx(a *core.TxAttr) *C.struct_fi_tx_attr {
	c := alloc[C.struct_fi_tx_attr]()
	if a != nil {
		fillTx(c, a)
	}
	return c
}

func fillTx(c *C.struct_fi_tx_attr, a *core.TxAttr) {
	c.caps, c.mode, c.op_flags = C.uint64_t(a.Caps), C.uint64_t(a.Mode), C.uint64_t(a.OpFlags)
	c.msg_order, c.comp_order = C.uint64_t(a.MsgOrder), C.uint64_t(a.CompOrder)
	c.inject_size, c.size, c.iov_limit, c.rma_iov_limit = toSize(a.InjectSize), toSize(a.Size), toSize(a.IOVLimit), toSize(a.RMAIOVLimit)
	c.tclass = C.uint32_t(a.TClass)
}

func toRx(a *core.RxAttr) *C.struct_fi_rx_attr {
	c := alloc[C.struct_fi_rx_attr]()
	if a != nil {
		fillRx(c, a)
	}
	return c
}

func fillRx(c *C.struct_fi_rx_attr, a *core.RxAttr) {
	c.caps, c.mode, c.op_flags = C.uint64_t(a.Caps), C.uint64_t(a.Mode), C.uint64_t(a.OpFlags)
	c.msg_order, c.comp_order = C.uint64_t(a.MsgOrder), C.uint64_t(a.CompOrder)
	c.total_buffered_recv, c.size, c.iov_limit = toSize(a.TotalBufferedRecv), toSize(a.Size), toSize(a.IOVLimit)
}

func toEP(a *core.EPAttr) *C.struct_fi_ep_attr {
	c := alloc[C.struct_fi_ep_attr]()
	if a == nil {
		return c
	}
	c._type, c.protocol, c.protocol_version = C.int(a.Type), C.uint32_t(a.Protocol), C.uint32_t(a.ProtocolVersion)
	c.max_msg_size, c.msg_prefix_size = toSize(a.MaxMsgSize), toSize(a.MsgPrefixSize)
	c.max_order_raw_size, c.max_order_war_size, c.max_order_waw_size = toSize(a.MaxOrderRAWSize), toSize(a.MaxOrderWARSize), toSize(a.MaxOrderWAWSize)
	c.mem_tag_format, c.tx_ctx_cnt, c.rx_ctx_cnt = C.uint64_t(a.MemTagFormat), toSize(a.TxCtxCnt), toSize(a.RxCtxCnt)
	c.auth_key, c.auth_key_size = toBytes(a.AuthKey), toSize(a.AuthKeySize)
	return c
}

func toDomain(a *core.DomainAttr) *C.struct_fi_domain_attr {
	c := alloc[C.struct_fi_domain_attr]()
	if a == nil {
		return c
	}
	if a.Domain != nil {
		c.domain = (*C.struct_fid_domain)(fidOf(a.Domain))
	}
	c.name = toStr(a.Name)
	c.threading, c.control_progress, c.data_progress = C.int(a.Threading), C.int(a.ControlProgress), C.int(a.DataProgress)
	c.resource_mgmt, c.av_type, c.mr_mode = C.int(a.ResourceMgmt), C.int(a.AVType), C.int(a.MRMode)
	c.mr_key_size, c.cq_data_size, c.cq_cnt, c.ep_cnt = toSize(a.MRKeySize), toSize(a.CQDataSize), toSize(a.CQCnt), toSize(a.EPCnt)
	c.tx_ctx_cnt, c.rx_ctx_cnt, c.max_ep_tx_ctx, c.max_ep_rx_ctx = toSize(a.TxCtxCnt), toSize(a.RxCtxCnt), toSize(a.MaxEPTxCtx), toSize(a.MaxEPRxCtx)
	c.max_ep_stx_ctx, c.max_ep_srx_ctx, c.cntr_cnt, c.mr_iov_limit = toSize(a.MaxEPStxCtx), toSize(a.MaxEPSrxCtx), toSize(a.CntrCnt), toSize(a.MRIOVLimit)
	c.caps, c.mode = C.uint64_t(a.Caps), C.uint64_t(a.Mode)
	c.auth_key, c.auth_key_size = toBytes(a.AuthKey), toSize(a.AuthKeySize)
	c.max_err_data, c.mr_cnt, c.tclass, c.max_ep_auth_key = toSize(a.MaxErrData), toSize(a.MRCnt), C.uint32_t(a.TClass), toSize(a.MaxEPAuthKey)
	c.max_group_id, c.max_cntr_value, c.max_err_cntr_value = C.uint32_t(a.MaxGroupID), C.uint64_t(a.MaxCntrValue), C.uint64_t(a.MaxErrCntrValue)
	return c
}

func toFabric(a *core.FabricAttr) *C.struct_fi_fabric_attr {
	c := alloc[C.struct_fi_fabric_attr]()
	if a == nil {
		return c
	}
	if a.Fabric != nil {
		c.fabric = (*C.struct_fid_fabric)(fidOf(a.Fabric))
	}
	c.name, c.prov_name = toStr(a.Name), toStr(a.ProvName)
	c.prov_version, c.api_version = C.uint32_t(a.ProvVersion), C.uint32_t(a.APIVersion)
	return c
}

func toNIC(n *core.NIC) *C.struct_fid_nic {
	if n == nil {
		return nil
	}
	c := (*C.struct_fid_nic)(C.gf_nic_new())
	c.device_attr, c.bus_attr, c.link_attr = alloc[C.struct_fi_device_attr](), alloc[C.struct_fi_bus_attr](), alloc[C.struct_fi_link_attr]()
	d, l := c.device_attr, c.link_attr
	d.name, d.device_id, d.device_version = toStr(n.Device.Name), toStr(n.Device.DeviceID), toStr(n.Device.DeviceVersion)
	d.vendor_id, d.driver, d.firmware = toStr(n.Device.VendorID), toStr(n.Device.Driver), toStr(n.Device.Firmware)
	if n.Bus.IsPCI {
		c.bus_attr.bus_type = 1
		c.bus_attr.pci = C.struct_fi_pci_attr{domain_id: C.uint16_t(n.Bus.PCIDomain), bus_id: C.uint8_t(n.Bus.PCIBus),
			device_id: C.uint8_t(n.Bus.PCIDevice), function_id: C.uint8_t(n.Bus.PCIFunc)}
	}
	l.address, l.network_type = toStr(n.Link.Address), toStr(n.Link.NetworkType)
	l.mtu, l.speed, l.state = C.size_t(n.Link.MTU), C.size_t(n.Link.Speed), C.int(n.Link.State)
	return c
}

// fromInfo reads a C info of an ABI version: 0 to 10, the minor number of the symbol's version, which determines
// the length of the structures. NULL becomes nil.
func fromInfo(c *C.struct_fi_info, abi int) *core.Info {
	i := &core.Info{Caps: core.Caps(c.caps), Mode: core.Mode(c.mode), AddrFormat: core.AddrFormat(c.addr_format)}
	i.SrcAddr = fromAddr(c.src_addr, c.src_addrlen, i.AddrFormat)
	i.DestAddr = fromAddr(c.dest_addr, c.dest_addrlen, i.AddrFormat)
	i.Tx, i.Rx, i.EP = fromTx(c.tx_attr, abi), fromRx(c.rx_attr), fromEP(c.ep_attr, abi)
	i.Domain, i.Fabric = fromDomain(c.domain_attr, abi), fromFabric(c.fabric_attr, abi)
	if o := objectAt(unsafe.Pointer(c.handle)); o != nil {
		if r, ok := o.of.(*request); ok {
			i.Handle = r.info.Handle
		} else {
			i.Handle = o.core
		}
	}
	return i
}

func fromTx(c *C.struct_fi_tx_attr, abi int) *core.TxAttr {
	if c == nil {
		return nil
	}
	a := &core.TxAttr{Caps: core.Caps(c.caps), Mode: core.Mode(c.mode), OpFlags: core.OpFlags(c.op_flags), MsgOrder: core.Order(c.msg_order),
		CompOrder: core.Order(c.comp_order), InjectSize: fromSize(c.inject_size), Size: fromSize(c.size), IOVLimit: fromSize(c.iov_limit),
		RMAIOVLimit: fromSize(c.rma_iov_limit)}
	if abi >= 3 {
		a.TClass = core.TrafficClass(c.tclass)
	}
	return a
}

func fromRx(c *C.struct_fi_rx_attr) *core.RxAttr {
	if c == nil {
		return nil
	}
	return &core.RxAttr{Caps: core.Caps(c.caps), Mode: core.Mode(c.mode), OpFlags: core.OpFlags(c.op_flags), MsgOrder: core.Order(c.msg_order),
		CompOrder: core.Order(c.comp_order), TotalBufferedRecv: fromSize(c.total_buffered_recv), Size: fromSize(c.size), IOVLimit: fromSize(c.iov_limit)}
}

func fromEP(c *C.struct_fi_ep_attr, abi int) *core.EPAttr {
	if c == nil {
		return nil
	}
	a := &core.EPAttr{Type: core.EPType(c._type), Protocol: core.Protocol(c.protocol), ProtocolVersion: uint32(c.protocol_version),
		MaxMsgSize: fromSize(c.max_msg_size), MsgPrefixSize: fromSize(c.msg_prefix_size), MaxOrderRAWSize: fromSize(c.max_order_raw_size),
		MaxOrderWARSize: fromSize(c.max_order_war_size), MaxOrderWAWSize: fromSize(c.max_order_waw_size), MemTagFormat: uint64(c.mem_tag_format),
		TxCtxCnt: fromSize(c.tx_ctx_cnt), RxCtxCnt: fromSize(c.rx_ctx_cnt)}
	if abi >= 1 {
		a.AuthKey, a.AuthKeySize = fromKey(c.auth_key, c.auth_key_size)
	}
	return a
}

// fromKey reads an authorization key. A size without a key says where the keys are (FI_AV_AUTH_KEY).
func fromKey(key *C.uint8_t, size C.size_t) ([]byte, int) {
	n := fromSize(size)
	if key == nil || n == 0 || n > core.MaxAuthKey {
		return nil, n
	}
	return C.GoBytes(unsafe.Pointer(key), C.int(n)), n
}

func fromDomain(c *C.struct_fi_domain_attr, abi int) *core.DomainAttr {
	if c == nil {
		return nil
	}
	a := &core.DomainAttr{Name: fromStr(c.name), Threading: core.Threading(c.threading), ControlProgress: core.Progress(c.control_progress),
		DataProgress: core.Progress(c.data_progress), ResourceMgmt: core.ResourceMgmt(c.resource_mgmt), AVType: core.AVType(c.av_type),
		MRMode: core.MRMode(c.mr_mode), MRKeySize: fromSize(c.mr_key_size), CQDataSize: fromSize(c.cq_data_size), CQCnt: fromSize(c.cq_cnt),
		EPCnt: fromSize(c.ep_cnt), TxCtxCnt: fromSize(c.tx_ctx_cnt), RxCtxCnt: fromSize(c.rx_ctx_cnt), MaxEPTxCtx: fromSize(c.max_ep_tx_ctx),
		MaxEPRxCtx: fromSize(c.max_ep_rx_ctx), MaxEPStxCtx: fromSize(c.max_ep_stx_ctx), MaxEPSrxCtx: fromSize(c.max_ep_srx_ctx)}
	if o := objectAt(unsafe.Pointer(c.domain)); o != nil {
		a.Domain, _ = o.core.(*core.Domain)
	}
	if abi >= 1 {
		a.CntrCnt, a.MRIOVLimit, a.Caps, a.Mode = fromSize(c.cntr_cnt), fromSize(c.mr_iov_limit), core.Caps(c.caps), core.Mode(c.mode)
		a.AuthKey, a.AuthKeySize = fromKey(c.auth_key, c.auth_key_size)
		a.MaxErrData, a.MRCnt = fromSize(c.max_err_data), fromSize(c.mr_cnt)
	}
	if abi >= 3 {
		a.TClass = core.TrafficClass(c.tclass)
	}
	if abi >= 7 {
		a.MaxEPAuthKey = fromSize(c.max_ep_auth_key)
	}
	if abi >= 8 {
		a.MaxGroupID = uint32(c.max_group_id)
	}
	if abi >= 9 {
		a.MaxCntrValue, a.MaxErrCntrValue = uint64(c.max_cntr_value), uint64(c.max_err_cntr_value)
	}
	return a
}

func fromFabric(c *C.struct_fi_fabric_attr, abi int) *core.FabricAttr {
	if c == nil {
		return nil
	}
	a := &core.FabricAttr{Name: fromStr(c.name), ProvName: fromStr(c.prov_name), ProvVersion: core.Version(c.prov_version)}
	if o := objectAt(unsafe.Pointer(c.fabric)); o != nil {
		a.Fabric, _ = o.core.(*core.Fabric)
	}
	if abi >= 1 {
		a.APIVersion = core.Version(c.api_version)
	}
	return a
}

// infoOf returns the Info for an open call: the fields of the C info, and the lower Info of the Go Info that it
// came from. A C info that the program made itself is searched among the results of GetInfo.
func infoOf(c *C.struct_fi_info) (*core.Info, error) {
	said := fromInfo(c, newestABI)
	base := origin(c)
	if base == nil || (said.Fabric != nil && said.Fabric.ProvName != base.Fabric.ProvName) || (said.EP != nil && said.EP.Type != base.EP.Type) {
		var err error
		if base, err = search(said); err != nil {
			return nil, err
		}
	}
	i := base.Dup()
	i.Caps, i.Mode, i.AddrFormat, i.SrcAddr, i.DestAddr, i.Handle = said.Caps, said.Mode, said.AddrFormat, said.SrcAddr, said.DestAddr, said.Handle
	i.Tx, i.Rx, i.EP = cmp.Or(said.Tx, i.Tx), cmp.Or(said.Rx, i.Rx), cmp.Or(said.EP, i.EP)
	i.Domain, i.Fabric = cmp.Or(said.Domain, i.Domain), cmp.Or(said.Fabric, i.Fabric)
	return i, nil
}

// newestABI is the version of the structures in calls that have no symbol versions.
const newestABI = 10

// search calls GetInfo for an info that a program made itself.
func search(said *core.Info) (*core.Info, error) {
	hints := said.Dup()
	hints.Handle = nil
	q := core.Query{Hints: hints}
	if hints.Fabric != nil {
		q.Version = hints.Fabric.APIVersion
	}
	list, _, err := gofabric.GetInfo(q)
	if err != nil {
		return nil, err
	}
	if hints.Fabric != nil { // "udp" also matches the stacks above it
		if i := slices.IndexFunc(list, func(i *core.Info) bool { return i.Fabric.ProvName == hints.Fabric.ProvName }); i >= 0 {
			return list[i], nil
		}
	}
	return list[0], nil
}

//export goGetInfo
func goGetInfo(abi C.int, version C.uint32_t, node, service *C.char, flags C.uint64_t, hints *C.struct_fi_info, out **C.struct_fi_info) (rc C.int) {
	defer guard(&rc)
	refuse(out == nil)
	*out = nil
	if node != nil && *node == 0 {
		return -C.int(core.ErrNoData) // an unknown name (getaddrinfo(3)), not a missing one
	}
	q := core.Query{Version: core.Version(version), Node: fromStr(node), Service: fromStr(service), Flags: core.InfoFlags(flags)}
	if hints != nil {
		q.Hints = fromInfo(hints, int(abi))
	}
	list, _, err := gofabric.GetInfo(q)
	fail(err)
	next := out
	for _, i := range list {
		*next = toInfo(i)
		next = &(*next).next
	}
	return 0
}

//export goDupInfo
func goDupInfo(abi C.int, c *C.struct_fi_info) (dup *C.struct_fi_info) {
	defer func() {
		if r := recover(); r != nil {
			dup = nil
		}
	}()
	if c == nil {
		c := alloc[C.struct_fi_info]()
		c.tx_attr, c.rx_attr, c.ep_attr = toTx(nil), toRx(nil), toEP(nil)
		c.domain_attr, c.fabric_attr = toDomain(nil), toFabric(nil)
		return c
	}
	return dupInfo(c, int(abi))
}

// dupInfo copies the fields that the caller's ABI has: absent attributes remain absent, and addresses are copied
// unchanged.
func dupInfo(c *C.struct_fi_info, abi int) *C.struct_fi_info {
	i := fromInfo(c, abi)
	d := alloc[C.struct_fi_info]()
	d.caps, d.mode, d.addr_format, d.handle = c.caps, c.mode, c.addr_format, c.handle
	d.src_addr, d.src_addrlen = copyMem(c.src_addr, c.src_addrlen), c.src_addrlen
	d.dest_addr, d.dest_addrlen = copyMem(c.dest_addr, c.dest_addrlen), c.dest_addrlen
	if i.Tx != nil {
		d.tx_attr = toTx(i.Tx)
	}
	if i.Rx != nil {
		d.rx_attr = toRx(i.Rx)
	}
	if i.EP != nil {
		d.ep_attr = toEP(i.EP)
	}
	if i.Domain != nil {
		d.domain_attr = toDomain(i.Domain)
		d.domain_attr.domain = c.domain_attr.domain
	}
	if i.Fabric != nil {
		d.fabric_attr = toFabric(i.Fabric)
		d.fabric_attr.fabric = c.fabric_attr.fabric
	}
	if base := origin(c); base != nil {
		remember(d, base)
		d.nic = toNIC(base.NIC)
	}
	return d
}

func copyMem(p unsafe.Pointer, n C.size_t) unsafe.Pointer {
	if p == nil || n == 0 {
		return nil
	}
	q := C.malloc(n)
	C.memcpy(q, p, n)
	return q
}

//export goFreeInfo
func goFreeInfo(c *C.struct_fi_info) {
	for c != nil {
		next := c.next
		forget(c)
		freeInfo(c)
		c = next
	}
}

func freeInfo(c *C.struct_fi_info) {
	C.free(c.src_addr)
	C.free(c.dest_addr)
	C.free(unsafe.Pointer(c.tx_attr))
	C.free(unsafe.Pointer(c.rx_attr))
	if c.ep_attr != nil {
		C.free(unsafe.Pointer(c.ep_attr.auth_key))
		C.free(unsafe.Pointer(c.ep_attr))
	}
	if d := c.domain_attr; d != nil {
		C.free(unsafe.Pointer(d.name))
		C.free(unsafe.Pointer(d.auth_key))
		C.free(unsafe.Pointer(d))
	}
	if f := c.fabric_attr; f != nil {
		C.free(unsafe.Pointer(f.name))
		C.free(unsafe.Pointer(f.prov_name))
		C.free(unsafe.Pointer(f))
	}
	if c.nic != nil {
		C.gf_nic_free(unsafe.Pointer(c.nic))
	}
	C.free(unsafe.Pointer(c))
}
