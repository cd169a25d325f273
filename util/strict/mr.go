package strict

import (
	"cmp"
	"sync/atomic"

	"gofabric/core"
	"gofabric/util/hook"
)

// descs numbers the descriptors of all domains, so that one of another domain is recognized.
var descs atomic.Uint64

// firstDesc makes descriptors differ from small numbers that an application may pass by mistake.
const firstDesc = 0x5a_0000_0000

// region is registered memory.
type region struct {
	hook.MR
	d      *domain
	desc   core.Desc
	mem    []byte
	access core.Access
	keyed  bool // it has an authorization key

	// users counts the operations under way that use the region. Guarded by the domain's mu.
	users   int // operations under way that use the region
	enabled bool
}

// Desc is fi_mr_desc(3).
func (r *region) Desc() core.Desc { return r.desc }

// RegMR is fi_mr_regattr(3).
func (d *domain) RegMR(attr *core.MRAttr, av core.AVDriver) (core.MRDriver, error) {
	if err := d.checkReg(attr); err != nil {
		return nil, err
	}
	below, err := d.Domain.RegMR(attr, av)
	if err != nil {
		return nil, err
	}
	r := &region{MR: hook.MR{MRDriver: below}, d: d, desc: core.Desc(firstDesc + descs.Add(1)), mem: attr.IOV[0], access: attr.Access,
		keyed: len(attr.AuthKey) > 0 || av != nil, enabled: d.mode&core.MRModeEndpoint == 0}
	d.mu.Lock()
	d.regions[r.desc] = r
	if r.access&(core.AccessRemoteRead|core.AccessRemoteWrite) != 0 {
		d.keys[r.Key()] = r
	}
	d.mu.Unlock()
	return r, nil
}

func (d *domain) checkReg(attr *core.MRAttr) error {
	const op = "fi_mr_regattr"
	if attr == nil || len(attr.IOV) == 0 {
		return d.h.misuse(op, core.ErrInval, "pass the memory to register")
	}
	if len(attr.IOV) > 1 {
		return d.h.misuse(op, core.ErrInval, "%d buffers in one region: mr_iov_limit is 1; register each", len(attr.IOV))
	}
	d.mu.Lock()
	n := len(d.regions)
	d.mu.Unlock()
	if d.k.MRCnt > 0 && n >= d.k.MRCnt {
		return d.h.misuse(op, core.ErrNoSpc, "%d regions are registered (mr_cnt), and the adapter has no more; close some, or register larger ones", n)
	}
	remote := attr.Access&(core.AccessRemoteRead|core.AccessRemoteWrite) != 0
	if bits := 8 * d.info.Domain.MRKeySize; remote && d.mode&core.MRModeProvKey == 0 && bits > 0 && bits < 64 && attr.RequestedKey>>bits != 0 {
		return d.h.misuse(op, core.ErrKeyRejected, "key %#x has more than the %d bytes of a key here (mr_key_size)", attr.RequestedKey, d.info.Domain.MRKeySize)
	}
	return nil
}

// Bind is fi_mr_bind(3).
func (r *region) Bind(obj any, flags core.BindFlags) error {
	if _, ok := obj.(core.CounterDriver); ok && r.d.k.Lacks&LacksMRCounters != 0 {
		return r.d.h.misuse("fi_mr_bind", core.ErrNoSys, "the provider binds no counters to memory regions")
	}
	return r.MR.Bind(obj, flags)
}

// Enable is fi_mr_enable(3).
func (r *region) Enable() error {
	err := r.MR.Enable()
	if err == nil {
		r.d.mu.Lock()
		r.enabled = true
		r.d.mu.Unlock()
	}
	return err
}

// Close is fi_close(3). It refuses to close a region with operations under way: an adapter would still access the
// memory.
func (r *region) Close() error {
	d := r.d
	d.mu.Lock()
	users := r.users
	d.mu.Unlock()
	if users > 0 {
		return d.h.misuse("fi_close", core.ErrBusy, "%d operations that name the memory region have not completed: the adapter would still read or write its "+
			"memory, which the system may have given to another allocation, or end them with a protection fault; read their completions first", users)
	}
	key := r.Key()
	if err := r.MR.Close(); err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.regions, r.desc)
	if d.keys[key] == r {
		delete(d.keys, key)
	}
	d.mu.Unlock()
	return nil
}

// local checks the descriptors of an operation's buffers. It returns those of the stack below, and their regions.
func (d *domain) local(op string, iov [][]byte, desc []core.Desc, access core.Access) ([]core.Desc, []*region, error) {
	if d.mode&core.MRModeLocal == 0 && len(desc) == 0 {
		return desc, nil, nil
	}
	var used []*region
	below := make([]core.Desc, len(desc))
	for i, buf := range iov {
		var given core.Desc
		if i < len(desc) {
			given = desc[i]
		}
		r, err := d.described(op, buf, given, access)
		if err != nil {
			return nil, nil, err
		}
		if r != nil {
			below[i] = r.MR.Desc()
			used = append(used, r)
		}
	}
	return below, used, nil
}

// described returns the region of a descriptor, nil if the buffer needs none.
func (d *domain) described(op string, buf []byte, desc core.Desc, access core.Access) (*region, error) {
	must := d.mode&core.MRModeLocal != 0 && len(buf) > 0
	if desc == 0 {
		if must {
			return nil, d.h.misuse(op, core.ErrInval, "a buffer of %d bytes has no descriptor, but FI_MR_LOCAL is on: register it with fi_mr_reg and pass fi_mr_desc. "+
				"On hardware: %s", len(buf), d.k.WhyLocal)
		}
		return nil, nil
	}
	d.mu.Lock()
	r := d.regions[desc]
	d.mu.Unlock()
	hardware := cmp.Or(d.k.WhyLocal, "the provider reads the descriptor as a pointer to its own structure")
	switch {
	case r == nil && desc > firstDesc && desc <= firstDesc+core.Desc(descs.Load()):
		return nil, d.h.misuse(op, core.ErrInval, "the descriptor is of a memory region of another domain, or of one that is closed. On hardware: %s", hardware)
	case r == nil:
		return nil, d.h.misuse(op, core.ErrInval, "%#x is not a descriptor: pass what fi_mr_desc returned. On hardware: a crash, because the provider uses it as a pointer", uint64(desc))
	case !inside(buf, r.mem):
		return nil, d.h.misuse(op, core.ErrInval, "the buffer of %d bytes is not inside the memory region that the descriptor is of, which has %d bytes. On hardware: %s", len(buf), len(r.mem), hardware)
	case access&^r.access != 0:
		return nil, d.h.misuse(op, core.ErrAccess, "the memory region was registered for %s, but this operation needs %s. On hardware: %s",
			r.access.String(), access.String(), hardware)
	case !r.enabled:
		return nil, d.h.misuse(op, core.ErrOpBadState, "the memory region was not bound to an endpoint and enabled (fi_mr_bind, fi_mr_enable), as FI_MR_ENDPOINT "+
			"requires. On hardware: it has no entry in the adapter's table yet")
	}
	return r, nil
}

// inside reports whether buf is part of mem.
func inside(buf, mem []byte) bool {
	off := addressOf(buf) - addressOf(mem)
	return len(buf) == 0 || off <= uint64(len(mem)) && uint64(len(buf)) <= uint64(len(mem))-off
}
