package record

import (
	"gofabric/core"
	"gofabric/util/hook"
)

// vector is an address vector.
type vector struct {
	hook.AV
	object
}

func (v *vector) BindEQ(eq core.EQDriver, flags core.BindFlags) error {
	return v.r.do("fi_av_bind", func() error { return v.AV.BindEQ(eq, flags) })
}

func (v *vector) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	return getWith(v.r, "fi_av_insert", flags,
		func(flags core.InsertFlags) (int, error) { return v.AV.Insert(addrs, fi, flags, context...) })
}

func (v *vector) InsertSvc(node, service string, flags core.InsertFlags, context ...any) (core.FIAddr, error) {
	return getWith(v.r, "fi_av_insertsvc", flags, func(flags core.InsertFlags) (core.FIAddr, error) {
		return v.AV.InsertSvc(node, service, flags, context...)
	})
}

func (v *vector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []core.FIAddr,
	flags core.InsertFlags, context ...any) (int, error) {
	return getWith(v.r, "fi_av_insertsym", flags, func(flags core.InsertFlags) (int, error) {
		return v.AV.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
	})
}

func (v *vector) Remove(fi []core.FIAddr, flags core.InsertFlags) error {
	return with(v.r, "fi_av_remove", flags, func(flags core.InsertFlags) error { return v.AV.Remove(fi, flags) })
}

func (v *vector) Lookup(fi core.FIAddr) (core.Addr, error) {
	return get(v.r, "fi_av_lookup", func() (core.Addr, error) { return v.AV.Lookup(fi) })
}

func (v *vector) SetUserID(fi, id core.FIAddr, flags core.InsertFlags) error {
	return with(v.r, "fi_av_set_user_id", flags,
		func(flags core.InsertFlags) error { return v.AV.SetUserID(fi, id, flags) })
}

func (v *vector) InsertAuthKey(key []byte, flags core.InsertFlags) (core.FIAddr, error) {
	return get(v.r, "fi_av_insert_auth_key", func() (core.FIAddr, error) { return v.AV.InsertAuthKey(key, flags) })
}

func (v *vector) LookupAuthKey(fi core.FIAddr) ([]byte, error) {
	return get(v.r, "fi_av_lookup_auth_key", func() ([]byte, error) { return v.AV.LookupAuthKey(fi) })
}

func (v *vector) OpenSet(attr core.AVSetAttr) (core.AVSetDriver, error) {
	return openWith(v.r, "fi_av_set", attr.Flags, func(flags core.AVSetFlags) (core.AVSetDriver, error) {
		attr.Flags = flags
		return v.AV.OpenSet(attr)
	}, func(below core.AVSetDriver) core.AVSetDriver {
		return &set{hook.Set{AVSetDriver: below}, v.over(below)}
	})
}

// set is a set of addresses.
type set struct {
	hook.Set
	object
}

// combinations are the calls that combine sets.
var combinations = [...]string{
	core.SetUnion:     "fi_av_set_union",
	core.SetIntersect: "fi_av_set_intersect",
	core.SetDiff:      "fi_av_set_diff",
}

func (s *set) Combine(how core.SetOp, src core.AVSetDriver) error {
	return s.r.do(combinations[how], func() error { return s.Set.Combine(how, src) })
}

func (s *set) Insert(fi core.FIAddr) error {
	return s.r.do("fi_av_set_insert", func() error { return s.Set.Insert(fi) })
}

func (s *set) Remove(fi core.FIAddr) error {
	return s.r.do("fi_av_set_remove", func() error { return s.Set.Remove(fi) })
}

func (s *set) Addr() core.FIAddr { return value(s.r, "fi_av_set_addr", s.Set.Addr) }
