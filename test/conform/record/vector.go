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
	return v.r.call("fi_av_bind", v.AddressVector.BindEQ(bare(eq), flags))
}

func (v *vector) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.Flags, context ...any) (int, error) {
	n, err := v.AddressVector.Insert(addrs, fi, flags, context...)
	return n, v.r.flags("fi_av_insert", flags, err)
}

func (v *vector) InsertSvc(node, service string, flags core.Flags, context ...any) (core.FIAddr, error) {
	fi, err := v.AddressVector.InsertSvc(node, service, flags, context...)
	return fi, v.r.flags("fi_av_insertsvc", flags, err)
}

func (v *vector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []core.FIAddr, flags core.Flags, context ...any) (int, error) {
	n, err := v.AddressVector.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
	return n, v.r.flags("fi_av_insertsym", flags, err)
}

func (v *vector) Remove(fi []core.FIAddr, flags core.Flags) error {
	return v.r.flags("fi_av_remove", flags, v.AddressVector.Remove(fi, flags))
}

func (v *vector) Lookup(fi core.FIAddr) (core.Addr, error) {
	a, err := v.AddressVector.Lookup(fi)
	return a, v.r.call("fi_av_lookup", err)
}

func (v *vector) SetUserID(fi, id core.FIAddr, flags core.Flags) error {
	return v.r.flags("fi_av_set_user_id", flags, v.AddressVector.SetUserID(fi, id, flags))
}

func (v *vector) InsertAuthKey(key []byte, flags core.Flags) (core.FIAddr, error) {
	fi, err := v.AddressVector.InsertAuthKey(key, flags)
	return fi, v.r.call("fi_av_insert_auth_key", err)
}

func (v *vector) LookupAuthKey(fi core.FIAddr) ([]byte, error) {
	key, err := v.AddressVector.LookupAuthKey(fi)
	return key, v.r.call("fi_av_lookup_auth_key", err)
}

func (v *vector) StrAddr(a core.Addr) string {
	v.r.call("fi_av_straddr", nil)
	return v.AddressVector.StrAddr(a)
}

func (v *vector) OpenSet(attr core.AVSetAttr) (core.AVSet, error) {
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
	return s.r.call("fi_av_set_union", s.AVSet.Union(bare(src)))
}

func (s *set) Intersect(src core.AVSet) error {
	return s.r.call("fi_av_set_intersect", s.AVSet.Intersect(bare(src)))
}

func (s *set) Diff(src core.AVSet) error { return s.r.call("fi_av_set_diff", s.AVSet.Diff(bare(src))) }

func (s *set) Insert(fi core.FIAddr) error { return s.r.call("fi_av_set_insert", s.AVSet.Insert(fi)) }
func (s *set) Remove(fi core.FIAddr) error { return s.r.call("fi_av_set_remove", s.AVSet.Remove(fi)) }

func (s *set) Addr() core.FIAddr {
	s.r.call("fi_av_set_addr", nil)
	return s.AVSet.Addr()
}
