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
	text := "Unknown type"
	if kind >= 0 && int(kind) < len(stringers) && stringers[kind] != nil {
		text = stringers[kind](data).String()
	}
	giveText(text, buf, n)
	return buf
}

// stringers reads a C value of each type that has a text.
var stringers = [...]func(unsafe.Pointer) fmt.Stringer{
	typeInfo:       func(p unsafe.Pointer) fmt.Stringer { return fromInfo((*C.struct_fi_info)(p), newestABI) },
	typeTxAttr:     func(p unsafe.Pointer) fmt.Stringer { return fromTx((*C.struct_fi_tx_attr)(p), newestABI) },
	typeRxAttr:     func(p unsafe.Pointer) fmt.Stringer { return fromRx((*C.struct_fi_rx_attr)(p)) },
	typeEPAttr:     func(p unsafe.Pointer) fmt.Stringer { return fromEP((*C.struct_fi_ep_attr)(p), newestABI) },
	typeDomainAttr: func(p unsafe.Pointer) fmt.Stringer { return fromDomain((*C.struct_fi_domain_attr)(p), newestABI) },
	typeFabricAttr: func(p unsafe.Pointer) fmt.Stringer { return fromFabric((*C.struct_fi_fabric_attr)(p), newestABI) },
	typeVersion:    func(unsafe.Pointer) fmt.Stringer { return words(version.Library()) },
	typeFID: func(p unsafe.Pointer) fmt.Stringer {
		return words(fmt.Sprintf("fid: %p\nclass: %d\n", p, (*C.struct_fid)(p).fclass))
	},
	typeCaps:         flags[core.Caps],
	typeOpFlags:      flags[core.OpFlags],
	typeCQEventFlags: flags[core.CompFlags],
	typeMsgOrder:     flags[core.Order],
	typeMode:         flags[core.Mode],
	typeMRMode:       flags[core.MRMode],
	typeEPType:       enum[core.EPType],
	typeAddrFormat:   enum[core.AddrFormat],
	typeThreading:    enum[core.Threading],
	typeProgress:     enum[core.Progress],
	typeProtocol:     enum[core.Protocol],
	typeAVType:       enum[core.AVType],
	typeAtomicType:   enum[core.Datatype],
	typeAtomicOp:     enum[core.AtomicOp],
	typeEQEvent:      enum[core.EQEventType],
	typeCQFormat:     enum[core.CQFormat],
	typeWaitObj:      enum[core.WaitObj],
}

type words string

func (w words) String() string { return string(w) }

// number is a type of flags or an enumeration.
type number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int
	fmt.Stringer
}

func flags[T number](p unsafe.Pointer) fmt.Stringer { return T(*(*uint64)(p)) }

func enum[T number](p unsafe.Pointer) fmt.Stringer { return T(*(*uint32)(p)) }

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
	fail(err)
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
