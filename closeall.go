package gofabric

import (
	"errors"
	"reflect"
	"slices"

	"gofabric/core"
)

// CloseAll closes core objects. The order of the arguments does not matter: it closes endpoints first and fabrics
// last, because fi_close(3) fails with core.ErrBusy on an object in use. If an object has a method Children()
// []core.Object, CloseAll closes those too. It skips nil objects, tries all others, and joins the errors.
func CloseAll(objs ...core.Object) error {
	var all []core.Object
	for _, o := range objs {
		all = gather(all, o)
	}
	slices.SortStableFunc(all, func(a, b core.Object) int { return closeRank(a) - closeRank(b) })
	var errs []error
	for _, o := range all {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

// parent is an object that knows the objects that were opened from it.
type parent interface{ Children() []core.Object }

func gather(all []core.Object, o core.Object) []core.Object {
	if isNil(o) || slices.Contains(all, o) {
		return all
	}
	all = append(all, o)
	if p, ok := o.(parent); ok {
		for _, c := range p.Children() {
			all = gather(all, c)
		}
	}
	return all
}

// isNil reports whether o is nil, or a nil pointer.
func isNil(o core.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// closeRank returns the rank of an object. Objects of lower rank close first.
func closeRank(o core.Object) int {
	switch o.(type) {
	case *Endpoint, *Listener, *Memory:
		return 0
	case *core.Endpoint, *core.ScalableEndpoint, *core.PassiveEndpoint:
		return 1
	case *core.SharedRx, *core.MemoryRegion, *core.MC:
		return 2
	case *core.PollSet, *core.AVSet:
		return 3
	case *core.CompletionQueue, *core.EventQueue, *core.Counter, *core.AddressVector:
		return 4
	case *core.Domain:
		return 6
	case *core.Fabric:
		return 7
	}
	return 5 // wait sets may close after the queues in them
}
