package record

import (
	"gofabric/core"
	"gofabric/util/hook"
)

type fabric struct {
	hook.Fabric
	object
}

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	return open(f.r, "fi_domain", func() (core.DomainDriver, error) { return f.Fabric.OpenDomain(f.r.Stripped(info)) },
		func(below core.DomainDriver) core.DomainDriver {
			return &domain{hook.Domain{DomainDriver: below}, f.over(below)}
		})
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info, self *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return open(f.r, "fi_passive_ep", func() (core.PassiveDriver, error) {
		return f.Fabric.OpenPassiveEndpoint(f.r.Stripped(info), self)
	}, func(below core.PassiveDriver) core.PassiveDriver {
		return &passive{hook.Passive{PassiveDriver: below}, f.over(below)}
	})
}

func (f *fabric) OpenEQ(attr core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	return openWith(f.r, "fi_eq_open", attr.Flags, func(flags core.EQFlags) (core.EQDriver, error) {
		attr.Flags, attr.WaitObj = flags, chosen(f.r, "wait_obj", attr.WaitObj)
		below, err := f.Fabric.OpenEQ(attr, set)
		f.r.value("wait_obj", uint64(attr.WaitObj), err)
		return below, err
	}, func(below core.EQDriver) core.EQDriver {
		return &eventQueue{hook.EQ{EQDriver: below}, f.over(below)}
	})
}

func (f *fabric) OpenWait(attr core.WaitAttr) (core.WaitDriver, error) {
	return open(f.r, "fi_wait_open", func() (core.WaitDriver, error) { return f.Fabric.OpenWait(attr) },
		func(below core.WaitDriver) core.WaitDriver {
			return &waitSet{hook.WaitSet{WaitDriver: below}, f.over(below)}
		})
}

func (f *fabric) TryWait(objs ...any) error {
	return f.r.do("fi_trywait", func() error { return f.Fabric.TryWait(objs...) })
}

type passive struct {
	hook.Passive
	object
}

func (p *passive) Listen() error { return p.r.do("fi_listen", p.Passive.Listen) }

func (p *passive) BindEQ(eq core.EQDriver, flags core.BindFlags) error {
	return with(p.r, "fi_pep_bind", flags, func(flags core.BindFlags) error { return p.Passive.BindEQ(eq, flags) })
}

func (p *passive) Reject(handle core.Handle, param []byte) error {
	return p.r.do("fi_reject", func() error { return p.Passive.Reject(handle, param) })
}

func (p *passive) Name() (core.Addr, error) { return get(p.r, "fi_getname", p.Passive.Name) }

func (p *passive) SetName(a core.Addr) error {
	return p.r.do("fi_setname", func() error { return p.Passive.SetName(a) })
}

func (p *passive) GetOpt(opt core.EPOpt) (int, error) { return p.r.getOpt(opt, p.Passive.GetOpt) }

func (p *passive) SetOpt(opt core.EPOpt, value int) error {
	return p.r.setOpt(opt, value, p.Passive.SetOpt)
}
