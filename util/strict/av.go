package strict

import (
	"gofabric/core"
	"gofabric/util/hook"
)

// vector is an address vector.
type vector struct {
	hook.AV
	d *domain

	bits  int  // bits of an address that select a receive context
	async bool // only events report insertions; until then the indices belong to the vector

	// known has the inserted indices, or is nil if some of them were not seen here. Guarded by the domain's mu.
	known map[core.FIAddr]bool
}

// OpenAV is fi_av_open(3).
func (d *domain) OpenAV(attr core.AVAttr, self *core.AddressVector) (core.AVDriver, error) {
	const op = "fi_av_open"
	if attr.Name != "" && d.k.Caps&core.CapSharedAV == 0 {
		return nil, d.h.misuse(op, core.ErrNoSys, "the provider has no vectors that processes share (FI_SHARED_AV)")
	}
	if d.k.AVType != core.AVUnspec {
		attr.Type = d.k.AVType
	}
	below, err := d.Domain.OpenAV(attr, self)
	if err != nil {
		return nil, err
	}
	v := &vector{AV: hook.AV{AVDriver: below}, d: d, bits: attr.RxCtxBits, async: attr.Flags&core.AVEvent != 0, known: map[core.FIAddr]bool{}}
	if v.async || d.info.Caps&core.CapMulticast != 0 {
		v.known = nil // indices come later, or from another process
	}
	return v, nil
}

// Insert is fi_av_insert(3). Fewer insertions than addresses are not an error: the application must check the
// number.
func (v *vector) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	n, err := v.AV.Insert(addrs, fi, flags, context...)
	if err == nil && n < len(addrs) && n >= 0 && !v.async {
		v.d.h.say("fi_av_insert: some addresses were refused. Their entries are FI_ADDR_NOTAVAIL, and a send to that value crashes hardware providers: compare the " +
			"result with the number of addresses")
	}
	if v.async || len(fi) < len(addrs) {
		v.all(max(n, 1))
		return n, err
	}
	v.learn(fi[:len(addrs)])
	return n, err
}

// has reports whether an address was inserted and not removed.
func (v *vector) has(a core.FIAddr) bool {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	return v.known == nil || v.known[a<<v.bits>>v.bits]
}

// all records that the vector has indices that this package did not see. Then every index counts as known.
func (v *vector) all(n int) {
	if n > 0 {
		v.d.mu.Lock()
		v.known = nil
		v.d.mu.Unlock()
	}
}

func (v *vector) learn(fi []core.FIAddr) {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	for _, a := range fi {
		if v.known != nil && a != core.AddrNotAvail {
			v.known[a] = true
		}
	}
}

// InsertSvc is fi_av_insertsvc(3).
func (v *vector) InsertSvc(node, service string, flags core.InsertFlags, context ...any) (core.FIAddr, error) {
	fi, err := v.AV.InsertSvc(node, service, flags, context...)
	if err == nil && !v.async {
		v.learn([]core.FIAddr{fi})
	}
	return fi, err
}

// InsertSym is fi_av_insertsym(3).
func (v *vector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	n, err := v.AV.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
	if v.async || len(fi) < nodecnt*svccnt {
		v.all(n)
	} else if err == nil {
		v.learn(fi)
	}
	return n, err
}

// Remove is fi_av_remove(3).
func (v *vector) Remove(fi []core.FIAddr, flags core.InsertFlags) error {
	err := v.AV.Remove(fi, flags)
	if err == nil {
		v.d.mu.Lock()
		for _, a := range fi {
			delete(v.known, a)
		}
		v.d.mu.Unlock()
	}
	return err
}
