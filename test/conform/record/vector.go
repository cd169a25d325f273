package record

import "gofabric/core"

// vector is an address vector.
type vector struct {
	core.AddressVector
	f *fabric
	r *Recorder
}

func (v *vector) inner() core.Object { return v.AddressVector }
func (v *vector) Close() error       { return v.f.close(v.AddressVector) }

func (v *vector) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return v.r.do("fi_av_bind", func() error { return v.AddressVector.BindEQ(bare(eq), flags) })
}

func (v *vector) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.Flags, context ...any) (int, error) {
	return getWith(v.r, "fi_av_insert", flags, func(flags core.Flags) (int, error) { return v.AddressVector.Insert(addrs, fi, flags, context...) })
}

func (v *vector) InsertSvc(node, service string, flags core.Flags, context ...any) (core.FIAddr, error) {
	return getWith(v.r, "fi_av_insertsvc", flags, func(flags core.Flags) (core.FIAddr, error) {
		return v.AddressVector.InsertSvc(node, service, flags, context...)
	})
}

func (v *vector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []core.FIAddr, flags core.Flags, context ...any) (int, error) {
	return getWith(v.r, "fi_av_insertsym", flags, func(flags core.Flags) (int, error) {
		return v.AddressVector.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
	})
}

func (v *vector) Remove(fi []core.FIAddr, flags core.Flags) error {
	return v.r.with("fi_av_remove", flags, func(flags core.Flags) error { return v.AddressVector.Remove(fi, flags) })
}

func (v *vector) Lookup(fi core.FIAddr) (core.Addr, error) {
	return get(v.r, "fi_av_lookup", func() (core.Addr, error) { return v.AddressVector.Lookup(fi) })
}

func (v *vector) SetUserID(fi, id core.FIAddr, flags core.Flags) error {
	return v.r.with("fi_av_set_user_id", flags, func(flags core.Flags) error { return v.AddressVector.SetUserID(fi, id, flags) })
}

func (v *vector) InsertAuthKey(key []byte, flags core.Flags) (core.FIAddr, error) {
	return get(v.r, "fi_av_insert_auth_key", func() (core.FIAddr, error) { return v.AddressVector.InsertAuthKey(key, flags) })
}

func (v *vector) LookupAuthKey(fi core.FIAddr) ([]byte, error) {
	return get(v.r, "fi_av_lookup_auth_key", func() ([]byte, error) { return v.AddressVector.LookupAuthKey(fi) })
}

func (v *vector) StrAddr(a core.Addr) string {
	return value(v.r, "fi_av_straddr", func() string { return v.AddressVector.StrAddr(a) })
}

func (v *vector) OpenSet(attr core.AVSetAttr) (core.AVSet, error) {
	if v.r.Lacks("fi_av_set") {
		return nil, core.ErrNoSys
	}
	attr.Flags = v.r.Mask("fi_av_set", attr.Flags)
	below, err := v.AddressVector.OpenSet(attr)
	v.r.flags("fi_av_set", attr.Flags, err)
	if err != nil {
		return nil, err
	}
	return stands(v.f, below, &set{AVSet: below, f: v.f, r: v.r}), nil
}

// set is a set of addresses.
type set struct {
	core.AVSet
	f *fabric
	r *Recorder
}

func (s *set) inner() core.Object { return s.AVSet }
func (s *set) Close() error       { return s.f.close(s.AVSet) }

func (s *set) Union(src core.AVSet) error {
	return s.r.do("fi_av_set_union", func() error { return s.AVSet.Union(bare(src)) })
}

func (s *set) Intersect(src core.AVSet) error {
	return s.r.do("fi_av_set_intersect", func() error { return s.AVSet.Intersect(bare(src)) })
}

func (s *set) Diff(src core.AVSet) error {
	return s.r.do("fi_av_set_diff", func() error { return s.AVSet.Diff(bare(src)) })
}

func (s *set) Insert(fi core.FIAddr) error {
	return s.r.do("fi_av_set_insert", func() error { return s.AVSet.Insert(fi) })
}
func (s *set) Remove(fi core.FIAddr) error {
	return s.r.do("fi_av_set_remove", func() error { return s.AVSet.Remove(fi) })
}

func (s *set) Addr() core.FIAddr {
	return value(s.r, "fi_av_set_addr", s.AVSet.Addr)
}
