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

	"gofabric/core"
)

// This file has the calls of every object: fi_close, fi_bind and fi_control (fabric(7), fi_control(3)).

//export goClose
func goClose(id C.uint64_t) (rc C.int) {
	defer guard(&rc)
	o := find(id)
	refuse(o == nil)
	switch err := o.core.Close(); {
	case errors.Is(err, core.ErrTimedOut): // the object is closed, but a peer has not received all data: native's fi_close has no such error
		warn(err)
	case err != nil:
		return C.int(status(err))
	}
	if c, ok := o.of.(interface{ closed() }); ok {
		c.closed()
	}
	remove(o)
	return 0
}

//export goBind
func goBind(id, with C.uint64_t, flags C.uint64_t) (rc C.int) {
	defer guard(&rc)
	o, b := find(id), find(with)
	refuse(o == nil || b == nil)
	return C.int(status(bind(o, b, core.BindFlags(flags))))
}

func bind(o, b *object, flags core.BindFlags) error {
	switch t := o.core.(type) {
	case *core.Domain:
		if eq, ok := b.core.(*core.EventQueue); ok {
			return t.BindEQ(eq, flags)
		}
	case *core.PassiveEndpoint:
		if eq, ok := b.core.(*core.EventQueue); ok {
			return t.BindEQ(eq, flags)
		}
	case *core.AddressVector:
		if eq, ok := b.core.(*core.EventQueue); ok {
			return t.BindEQ(eq, flags)
		}
	case *core.MemoryRegion:
		switch w := b.core.(type) {
		case *core.Counter:
			return t.BindCounter(w, flags)
		case *core.Endpoint:
			return t.BindEndpoint(w)
		case *core.ScalableEndpoint:
			return t.BindEndpoint(&w.Endpoint)
		}
	case *core.Endpoint:
		return bindEndpoint(t, b, flags)
	case *core.ScalableEndpoint:
		return bindEndpoint(&t.Endpoint, b, flags)
	case *core.SharedRx:
		switch w := b.core.(type) {
		case *core.CompletionQueue:
			return t.BindCQ(w, flags)
		case *core.Counter:
			return t.BindCounter(w, flags)
		}
	default:
		return core.ErrNoSys
	}
	return core.ErrInval
}

func bindEndpoint(ep *core.Endpoint, b *object, flags core.BindFlags) error {
	switch w := b.core.(type) {
	case *core.CompletionQueue:
		if flags == 0 {
			return nil // for neither direction: native accepts it, and programs use it
		}
		return ep.BindCQ(w, flags)
	case *core.Counter:
		if flags == 0 {
			return nil
		}
		return ep.BindCounter(w, flags)
	case *core.AddressVector:
		return ep.BindAV(w, flags)
	case *core.EventQueue:
		return ep.BindEQ(w, flags)
	case *core.SharedRx:
		return ep.BindSRX(w)
	case *core.SharedTx:
		return ep.BindSTX(w)
	}
	return core.ErrInval
}

// class returns the object's FI_CLASS_*.
func (o *object) class() C.size_t { return (*C.struct_fid)(o.fid).fclass }

//export goControl
func goControl(id C.uint64_t, command C.int, arg unsafe.Pointer) (rc C.int) {
	defer guard(&rc)
	o := find(id)
	refuse(o == nil)
	return C.int(status(control(o, command, arg)))
}

func control(o *object, command C.int, arg unsafe.Pointer) error {
	switch command {
	case C.FI_ENABLE:
		if t, ok := o.core.(interface{ Enable() error }); ok {
			err := t.Enable()
			if e, ok := o.of.(*endpoint); ok && err == nil {
				e.enabled()
				e.mayLeave((*C.struct_gf_ep)(o.fid))
			}
			return err
		}
		if _, ok := o.core.(*core.SharedRx); ok {
			return nil // a shared receive context needs no enable
		}
	case C.FI_GETWAIT, C.FI_GET_FD:
		return getWait(o, arg)
	case C.FI_GETWAITOBJ:
		if q, ok := o.of.(interface{ waitObj() core.WaitObj }); ok && arg != nil {
			*(*C.int)(arg) = C.int(q.waitObj())
			return nil
		}
	case C.FI_QUEUE_WORK, C.FI_CANCEL_WORK, C.FI_FLUSH_WORK:
		if d, ok := o.of.(*domain); ok {
			d.settle()
			return work(d, command, arg)
		}
	case C.FI_GET_RAW_MR:
		if m, ok := o.core.(*core.MemoryRegion); ok && arg != nil {
			return rawKey(m, (*C.struct_fi_mr_raw_attr)(arg))
		}
	case C.FI_MAP_RAW_MR, C.FI_UNMAP_KEY:
		if d, ok := o.of.(*domain); ok && arg != nil {
			return mapRaw(d, command, arg)
		}
	case C.FI_BACKLOG:
		if _, ok := o.core.(*core.PassiveEndpoint); ok && arg != nil {
			return nil // the queue of connection requests grows
		}
	case C.FI_GETOPSFLAG, C.FI_SETOPSFLAG, C.FI_ALIAS:
		if e, ok := o.of.(*endpoint); ok && e.ep != nil && arg != nil {
			return e.control(o, command, arg)
		}
	}
	return core.ErrNoSys
}

// getWait stores the descriptor to poll.
func getWait(o *object, arg unsafe.Pointer) error {
	w, ok := o.core.(interface{ WaitFD() (int, error) })
	if !ok {
		return core.ErrNoSys
	}
	if arg == nil {
		return core.ErrInval
	}
	fd, err := w.WaitFD()
	if err == nil {
		*(*C.int)(arg) = C.int(fd)
	}
	return err
}
