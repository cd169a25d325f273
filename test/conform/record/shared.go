package record

import "gofabric/core"

// sharedRx is a shared receive context.
type sharedRx struct {
	core.SharedRx
	f *fabric
	r *Recorder
}

func (x *sharedRx) inner() core.Object { return x.SharedRx }
func (x *sharedRx) Close() error       { return x.f.close(x.SharedRx) }

func (x *sharedRx) BindCQ(cq core.CompletionQueue, flags core.Flags) error {
	return x.r.with("fi_ep_bind", flags, func(flags core.Flags) error { return x.SharedRx.BindCQ(bare(cq), flags) })
}

func (x *sharedRx) BindCounter(c core.Counter, flags core.Flags) error {
	return x.r.do("fi_ep_bind", func() error { return x.SharedRx.BindCounter(bare(c), flags) })
}

func (x *sharedRx) Cancel(ctx core.Context) error {
	return x.r.do("fi_cancel", func() error { return x.SharedRx.Cancel(ctx) })
}

func (x *sharedRx) GetOpt(opt core.EPOpt) (int, error) {
	v, err := x.SharedRx.GetOpt(opt)
	return v, x.r.option("fi_getopt", opt, err)
}

func (x *sharedRx) SetOpt(opt core.EPOpt, value int) error {
	return x.r.option("fi_setopt", opt, x.SharedRx.SetOpt(opt, value))
}
