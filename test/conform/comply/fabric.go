package comply

import (
	"maps"
	"slices"
	"sync"

	"gofabric/core"
	"gofabric/util/hook"
)

// list is a fabric with its open objects.
type list struct {
	mu   sync.Mutex
	open map[*held]bool
}

func (l *list) hold(below core.Object) *held {
	h := &held{list: l, below: below}
	l.mu.Lock()
	l.open[h] = true
	l.mu.Unlock()
	return h
}

// held is an open object. All objects of the package embed it.
type held struct {
	*list
	below core.Object
	then  func() // called when it is closed; may be nil
}

// Close closes the object below.
func (h *held) Close() error {
	err := h.below.Close()
	if err != nil {
		return err
	}
	h.mu.Lock()
	delete(h.open, h)
	h.mu.Unlock()
	if h.then != nil {
		h.then()
	}
	return nil
}

type fabric struct {
	hook.Fabric
	*held
	h *Hook
}

// Abandon closes everything that is open, in any order that works, and the fabric. Tests that ended early use it.
func (f *fabric) Abandon() {
	for before := 0; ; {
		f.mu.Lock()
		open := slices.Collect(maps.Keys(f.open))
		f.mu.Unlock()
		if len(open) == before {
			return
		}
		before = len(open)
		for _, h := range open {
			_ = h.Close() // busy: the next round closes it
		}
	}
}

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	i := f.h.honest(info)
	below, err := f.Fabric.OpenDomain(i)
	if err != nil {
		return nil, err
	}
	return &domain{Domain: hook.Domain{DomainDriver: below}, held: f.hold(below), h: f.h, info: i,
		ops: map[core.OpContext]*op{}, claims: map[claim]core.OpContext{}}, nil
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info, self *core.PassiveEndpoint) (core.PassiveDriver, error) {
	below, err := f.Fabric.OpenPassiveEndpoint(f.h.honest(info), self)
	if err != nil {
		return nil, err
	}
	return &passive{hook.Passive{PassiveDriver: below}, f.hold(below)}, nil
}

func (f *fabric) OpenEQ(attr core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	below, err := f.Fabric.OpenEQ(attr, set)
	if err != nil {
		return nil, missing("fi_eq_open", err)
	}
	return &eventQueue{hook.EQ{EQDriver: below}, f.hold(below)}, nil
}

func (f *fabric) OpenWait(attr core.WaitAttr) (core.WaitDriver, error) {
	below, err := f.Fabric.OpenWait(attr)
	if err != nil {
		return nil, missing("fi_wait_open", err)
	}
	return &waitSet{hook.WaitSet{WaitDriver: below}, f.hold(below)}, nil
}

type passive struct {
	hook.Passive
	*held
}

type eventQueue struct {
	hook.EQ
	*held
}

type waitSet struct {
	hook.WaitSet
	*held
}
