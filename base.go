package gofabric

import (
	"sync/atomic"

	"gofabric/core"
)

// base is what endpoints share: fabric, domain and completion queue. It closes when the last of its owners has
// released it.
type base struct {
	info   *core.Info
	fabric *core.Fabric
	domain *core.Domain
	hub    hub
	refs   atomic.Int32
}

// openBase opens a fabric, a domain and a completion queue. The caller owns one reference.
func openBase(sys *system, info *core.Info) (*base, error) {
	b := &base{info: info}
	b.refs.Store(1)
	var err error
	if b.fabric, err = sys.openFabric(info); err != nil {
		return nil, err
	}
	if b.domain, err = b.fabric.OpenDomain(info); err != nil {
		CloseAll(b.fabric)
		return nil, err
	}
	cq, err := b.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec})
	if err != nil {
		CloseAll(b.domain, b.fabric)
		return nil, err
	}
	b.hub.cq = cq
	return b, nil
}

// release releases a reference.
func (b *base) release() error {
	if b.refs.Add(-1) > 0 {
		return nil
	}
	b.hub.drain()
	return CloseAll(b.hub.cq, b.domain, b.fabric)
}
