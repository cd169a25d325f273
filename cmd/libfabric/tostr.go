//go:build linux

package main

/*
#include <stdlib.h>
#include "gf.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"gofabric"
	"gofabric/core"
	"gofabric/internal/version"
)

// This file has texts: fi_tostr(3), fi_strerror (fi_errno(3)), fi_getparams.

// The types that fi_tostr takes (enum fi_type).
const (
	typeInfo = iota
	typeEPType
	typeCaps
	typeOpFlags
	typeAddrFormat
	typeTxAttr
	typeRxAttr
	typeEPAttr
	typeDomainAttr
	typeFabricAttr
	typeThreading
	typeProgress
	typeProtocol
	typeMsgOrder
	typeMode
	typeAVType
	typeAtomicType
	typeAtomicOp
	typeVersion
	typeEQEvent
	typeCQEventFlags
	typeMRMode
	typeOpType
	typeFID
	typeCollectiveOp
	typeHMEMIface
	typeCQFormat
	typeLogLevel
	typeLogSubsys
	typeAVAttr
	typeCQAttr
	typeMRAttr
	typeCntrAttr
	typeCQErrEntry
	typeCQWaitCond
	typeWaitObj
)

//export goToStr
func goToStr(buf *C.char, n C.size_t, data unsafe.Pointer, kind C.int) (out *C.char) {
	defer func() {
		if r := recover(); r != nil {
			warn(fmt.Errorf("fi_tostr: %v", r))
			out = nil
		}
	}()
	if buf == nil || n == 0 || (data == nil && kind != typeVersion) {
		return nil
	}
	text, ok := describe(int(kind), data)
	if !ok {
		text = "Unknown type"
	}
	giveText(text, buf, n)
	return buf
}

// describe returns the text of a C value of a type.
func describe(kind int, p unsafe.Pointer) (string, bool) {
	switch kind {
	case typeInfo:
		return fromInfo((*C.struct_fi_info)(p), newestABI).String(), true
	case typeTxAttr:
		return fromTx((*C.struct_fi_tx_attr)(p), newestABI).String(), true
	case typeRxAttr:
		return fromRx((*C.struct_fi_rx_attr)(p)).String(), true
	case typeEPAttr:
		return fromEP((*C.struct_fi_ep_attr)(p), newestABI).String(), true
	case typeDomainAttr:
		return fromDomain((*C.struct_fi_domain_attr)(p), newestABI).String(), true
	case typeFabricAttr:
		return fromFabric((*C.struct_fi_fabric_attr)(p), newestABI).String(), true
	case typeVersion:
		return version.Library(), true
	case typeFID:
		return fmt.Sprintf("fid: %p\nclass: %d\n", p, (*C.struct_fid)(p).fclass), true
	}
	if text, ok := describeFlags(kind, *(*uint64)(p)); ok {
		return text, true
	}
	return describeEnum(kind, *(*uint32)(p))
}

func describeFlags(kind int, v uint64) (string, bool) {
	switch kind {
	case typeCaps:
		return core.Caps(v).String(), true
	case typeOpFlags:
		return core.OpFlags(v).String(), true
	case typeCQEventFlags:
		return core.CompFlags(v).String(), true
	case typeMsgOrder:
		return core.Order(v).String(), true
	case typeMode:
		return core.Mode(v).String(), true
	case typeMRMode:
		return core.MRMode(uint32(v)).String(), true
	}
	return "", false
}

func describeEnum(kind int, v uint32) (string, bool) {
	var s fmt.Stringer
	switch kind {
	case typeEPType:
		s = core.EPType(v)
	case typeAddrFormat:
		s = core.AddrFormat(v)
	case typeThreading:
		s = core.Threading(v)
	case typeProgress:
		s = core.Progress(v)
	case typeProtocol:
		s = core.Protocol(v)
	case typeAVType:
		s = core.AVType(v)
	case typeAtomicType:
		s = core.Datatype(v)
	case typeAtomicOp:
		s = core.AtomicOp(v)
	case typeEQEvent:
		s = core.EQEventType(v)
	case typeCQFormat:
		s = core.CQFormat(v)
	case typeWaitObj:
		s = core.WaitObj(v)
	default:
		return "", false
	}
	return s.String(), true
}

// errTexts has the texts of error numbers in C memory. Each is made once and never freed, because callers of
// fi_strerror do not free it.
var errTexts sync.Map

//export goErrText
func goErrText(errnum C.int) *C.char {
	if errnum < 0 {
		errnum = -errnum
	}
	if errnum > 4096 {
		errnum = 4096 // one text for all unknown numbers
	}
	if p, ok := errTexts.Load(errnum); ok {
		return p.(*C.char)
	}
	p, _ := errTexts.LoadOrStore(errnum, C.CString(core.Errno(errnum).Error()))
	return p.(*C.char)
}

// goGetParams makes an array of all parameters with room for extra ones, which ends with an entry without a name.
//
//export goGetParams
func goGetParams(extra C.int, out **C.struct_fi_param, count *C.int) (rc C.int) {
	defer guard(&rc)
	values, err := gofabric.Params()
	if err != nil {
		return C.int(status(err))
	}
	size := len(values) + int(extra) + 1
	list := (*C.struct_fi_param)(C.calloc(C.size_t(size), C.size_t(unsafe.Sizeof(C.struct_fi_param{}))))
	if list == nil {
		return C.int(status(core.ErrNoMem))
	}
	slots := unsafe.Slice(list, size)
	for i, v := range values {
		slots[i] = C.struct_fi_param{name: C.CString(v.Var()), _type: C.int(v.Type), help_string: C.CString(v.Help)}
		if v.Set {
			slots[i].value = C.CString(v.Value)
		}
	}
	*out, *count = list, C.int(len(values))
	return 0
}
