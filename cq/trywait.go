package cq

import "gofabric/core"

// This file has fi_trywait(3).

type waitable interface {
	TryWait() error
	forgetWait()
}

// TryWait says whether it is safe to sleep on the wait objects of all of objs (Fabric.TryWait, fi_trywait(3)): nil
// if so, ErrAgain if one has something to read, ErrInval if one has no wait object. An object must be a Queue,
// Counter, EventQueue or WaitSet, or embed one.
func TryWait(objs ...any) error {
	list := make([]waitable, 0, len(objs))
	for _, o := range objs {
		w, ok := o.(waitable)
		if !ok {
			return core.ErrInval
		}
		if m, ok := o.(interface{ inWaitSet() *WaitSet }); ok && m.inWaitSet() != nil {
			w = m.inWaitSet() // the descriptor is the set's: ask the set
		}
		list = append(list, w)
	}
	return tryAll(list)
}

// tryAll prepares a sleep on all objects or on none.
func tryAll[W waitable](list []W) error {
	for i, w := range list {
		if err := w.TryWait(); err != nil {
			for _, armed := range list[:i] {
				armed.forgetWait()
			}
			return err
		}
	}
	return nil
}
