package mr

import (
	"gofabric/core"
)

// This file has the memory region (fi_mr(3)).

// Region is registered memory (fi_mr(3)). It implements core.MRDriver.
type Region struct {
	m      *Map
	mem    []byte
	base   uint64
	key    uint64
	desc   core.Desc
	access core.Access

	auth string // the authorization key

	persistent    bool // FI_RMA_PMEM
	enabled       bool // remote accesses are allowed
	needsEnable   bool
	needsEndpoint bool
	closed        bool
	ep            core.EndpointDriver
	onWrite       core.CounterDriver
	onRead        core.CounterDriver
}

// reference is implemented by counters and endpoints that count their users.
type reference interface {
	Ref()
	Unref()
}

// Desc returns the local descriptor of the region, for providers with MRModeLocal (fi_mr_desc(3)). It is never 0.
func (r *Region) Desc() core.Desc { return r.desc }

// Key returns the key that peers pass to access the region (fi_mr_key(3)). It is KeyNotAvail without remote access.
func (r *Region) Key() uint64 { return r.key }

// Base returns the remote address of the region's first byte: its virtual address with MRModeVirtAddr, else 0.
func (r *Region) Base() uint64 { return r.base }

// Access returns the accesses that the region permits.
func (r *Region) Access() core.Access { return r.access }

// AuthKey returns the authorization key that peers need, "" if they need none.
func (r *Region) AuthKey() string { return r.auth }

// Bytes returns the registered memory.
func (r *Region) Bytes() []byte { return r.mem }

// WriteCounter and ReadCounter return the counters of remote writes and reads, nil if none is bound. Locked.
func (r *Region) WriteCounter() core.CounterDriver { return r.onWrite }
func (r *Region) ReadCounter() core.CounterDriver  { return r.onRead }

// Endpoint returns the endpoint that the region is bound to, nil if none. With MRModeEndpoint only its peers may
// access the region. Locked.
func (r *Region) Endpoint() core.EndpointDriver { return r.ep }

// Bind binds a counter for remote writes, remote reads or both, as flags say, or the endpoint of the region
// (fi_mr_bind(3)). The error is ErrOpBadState if the region is already enabled, ErrInval if another object is bound
// already, and ErrNoSys for an endpoint without MRModeEndpoint.
func (r *Region) Bind(obj any, flags core.BindFlags) error {
	switch x := obj.(type) {
	case core.CounterDriver:
		return r.bindCounter(x, flags)
	case core.EndpointDriver:
		return r.bindEndpoint(x)
	}
	return r.bindError(core.ErrInval, "a region can be bound to counters and an endpoint of its domain")
}

func (r *Region) bindCounter(c core.CounterDriver, flags core.BindFlags) error {
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	write, read := flags&core.BindRemoteWrite != 0, flags&core.BindRemoteRead != 0
	switch {
	case flags&^(core.BindRemoteWrite|core.BindRemoteRead) != 0:
		return r.bindError(core.ErrBadFlags, "flags are BindRemoteWrite and BindRemoteRead")
	case flags == 0:
		return r.bindError(core.ErrInval, "pass what to count: BindRemoteWrite, BindRemoteRead or both")
	case r.closed:
		return core.ErrBadF
	case r.needsEnable && r.enabled:
		return r.bindError(core.ErrOpBadState, "bind counters before the region is enabled")
	case write && r.onWrite != nil, read && r.onRead != nil:
		return r.bindError(core.ErrInval, "a counter is already bound for these operations")
	}
	if write {
		r.onWrite = c
		hold(c)
	}
	if read {
		r.onRead = c
		hold(c)
	}
	return nil
}

func (r *Region) bindEndpoint(ep core.EndpointDriver) error {
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	switch {
	case r.closed:
		return core.ErrBadF
	case !r.needsEndpoint:
		return r.bindError(core.ErrNoSys, "the domain was opened without MRModeEndpoint")
	case r.ep != nil:
		return r.bindError(core.ErrInval, "an endpoint is already bound")
	}
	r.ep = ep
	hold(ep)
	return nil
}

// Enable allows remote accesses (fi_mr_enable(3)): with MRModeEndpoint, and for regions with MRRMAEvent under
// MRModeRMAEvent. Other regions allow them from their registration on, and return ErrNoSys. The error is
// ErrOpBadState if no endpoint is bound. A second Enable has no effect.
func (r *Region) Enable() error {
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	switch {
	case r.closed:
		return core.ErrBadF
	case !r.needsEnable:
		return &core.OpError{Op: "fi_mr_enable", Err: core.ErrNoSys, Hint: "the region has been enabled since its registration"}
	case r.needsEndpoint && r.ep == nil:
		return &core.OpError{Op: "fi_mr_enable", Err: core.ErrOpBadState, Hint: "bind the region to an endpoint first"}
	}
	r.enabled = true
	return nil
}

// Close ends the registration (fi_close(3)). It refuses remote accesses from now on. The memory belongs to the
// caller again when the operations under way on it have completed.
func (r *Region) Close() error {
	r.m.lock.Lock()
	defer r.m.lock.Unlock()
	if r.closed {
		return core.ErrBadF
	}
	r.closed, r.enabled = true, false
	if r.key != core.KeyNotAvail {
		delete(r.m.keys, r.key)
	}
	delete(r.m.descs, r.desc)
	r.m.bytes -= uint64(len(r.mem))
	release(r.onWrite)
	release(r.onRead)
	release(r.ep)
	r.onWrite, r.onRead, r.ep = nil, nil, nil
	return nil
}

func (r *Region) bindError(err core.Errno, hint string) error {
	return &core.OpError{Op: "fi_mr_bind", Err: err, Hint: hint}
}

func hold(o any) {
	if ref, ok := o.(reference); ok {
		ref.Ref()
	}
}

func release(o any) {
	if ref, ok := o.(reference); ok {
		ref.Unref()
	}
}
