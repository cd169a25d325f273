package record

import (
	"slices"

	"gofabric/core"
)

// A Recorder can take a feature away instead of recording it. The stack then behaves as if it accepted the feature and
// ignored it: a call does nothing and returns success, a flag does not reach the stack, a value is the default. Tests
// that show the feature must fail. If none does, they show only that the stack accepts it.

// Without makes r take k away. If k is a capability, it also takes away the calls and flags that the capability stands
// for.
func (r *Recorder) Without(k Key) { r.without = append([]Key{k}, means(k)...) }

// means returns what a capability stands for. Providers need not check capabilities that the application did not
// request.
func means(k Key) (keys []Key) {
	if k.Of != "caps" {
		return nil
	}
	calls := func(names ...string) {
		for _, n := range names {
			keys = append(keys, Key{Of: n})
		}
	}
	switch core.Caps(k.Bit) {
	case core.CapMsg, core.CapSend:
		calls("fi_send", "fi_sendv", "fi_sendmsg", "fi_senddata", "fi_inject", "fi_injectdata")
	case core.CapRecv:
		calls("fi_recv", "fi_recvv", "fi_recvmsg")
	case core.CapRMA:
		calls("fi_read", "fi_readv", "fi_readmsg", "fi_write", "fi_writev", "fi_writemsg", "fi_writedata",
			"fi_inject_write", "fi_inject_writedata")
	case core.CapRead, core.CapRemoteRead:
		calls("fi_read", "fi_readv", "fi_readmsg")
	case core.CapWrite, core.CapRemoteWrite:
		calls("fi_write", "fi_writev", "fi_writemsg", "fi_writedata", "fi_inject_write", "fi_inject_writedata")
	case core.CapMulticast:
		calls("fi_join")
	case core.CapRMAEvent:
		keys = append(keys, Key{"fi_ep_bind_counter", uint64(core.BindRemoteWrite), true},
			Key{"fi_mr_regattr", uint64(core.MRRMAEvent), true})
	case core.CapRMAPMem:
		keys = append(keys, Key{"fi_mr_regattr", uint64(core.MRRMAPMem), true})
	}
	return keys
}

// Lacks reports whether the call name is taken away.
func (r *Recorder) Lacks(name string) bool { return slices.Contains(r.without, Key{Of: name}) }

// Mask returns the flags that reach the stack.
func Mask[F Flags](r *Recorder, of string, flags F) F {
	for _, w := range r.without {
		if w.Valued && w.Of == of {
			flags &^= F(w.Bit)
		}
	}
	return flags
}

// chosen returns the value that reaches the stack: v, or the default.
func chosen[T ~uint8 | ~uint32 | ~uint64](r *Recorder, of string, v T) T {
	if r.hides(of, uint64(v)) {
		return 0
	}
	return v
}

// hides reports whether the value v is taken away.
func (r *Recorder) hides(of string, v uint64) bool {
	return slices.Contains(r.without, Key{of, v, true})
}

// do makes a call and records its result.
func (r *Recorder) do(name string, call func() error) error {
	if r.Lacks(name) {
		return nil
	}
	return r.call(name, call())
}

// with is do for a call with flags.
func with[F Flags](r *Recorder, name string, flags F, call func(F) error) error {
	if r.Lacks(name) {
		return nil
	}
	return noteFlags(r, name, flags, call(Mask(r, name, flags)))
}

// get is do for a call that returns a value.
func get[T any](r *Recorder, name string, call func() (T, error)) (v T, err error) {
	if r.Lacks(name) {
		return v, nil
	}
	v, err = call()
	return v, r.call(name, err)
}

// getWith is get for a call with flags.
func getWith[F Flags, T any](r *Recorder, name string, flags F, call func(F) (T, error)) (v T, err error) {
	if r.Lacks(name) {
		return v, nil
	}
	v, err = call(Mask(r, name, flags))
	return v, noteFlags(r, name, flags, err)
}

// open is get for a call that opens an object. If the call is taken away, it fails. over wraps the stack's object.
func open[T any](r *Recorder, name string, call func() (T, error), over func(T) T) (T, error) {
	return openWith(r, name, uint64(0), func(uint64) (T, error) { return call() }, over)
}

// openWith is open for a call with flags.
func openWith[F Flags, T any](r *Recorder, name string, flags F, call func(F) (T, error), over func(T) T) (T, error) {
	var none T
	if r.Lacks(name) {
		return none, core.ErrNoSys
	}
	below, err := call(Mask(r, name, flags))
	if noteFlags(r, name, flags, err) != nil {
		return none, err
	}
	return over(below), nil
}

// getOpt is get for fi_getopt(3).
func (r *Recorder) getOpt(opt core.EPOpt, call func(core.EPOpt) (int, error)) (int, error) {
	if r.hides("option", uint64(opt)) {
		return 0, nil
	}
	return get(r, "fi_getopt", func() (int, error) {
		v, err := call(opt)
		r.value("option", uint64(opt), err)
		return v, err
	})
}

// setOpt is do for fi_setopt(3).
func (r *Recorder) setOpt(opt core.EPOpt, value int, call func(core.EPOpt, int) error) error {
	if r.hides("option", uint64(opt)) {
		return nil
	}
	return r.do("fi_setopt", func() error {
		err := call(opt, value)
		r.value("option", uint64(opt), err)
		return err
	})
}

// value is get for a call that cannot fail.
func value[T any](r *Recorder, name string, call func() T) (v T) {
	if r.Lacks(name) {
		return v
	}
	r.note(Key{Of: name}, nil)
	return call()
}

// Stripped returns the Info for opening an object: info, or a copy without the feature that is taken away. The
// application's Info is unchanged.
func (r *Recorder) Stripped(info *core.Info) *core.Info {
	if r.without == nil || info == nil {
		return info
	}
	h := info.Dup()
	h.Caps = Mask(r, "caps", h.Caps)
	h.Mode = Mask(r, "mode", h.Mode)
	if d := h.Domain; d != nil {
		d.MRMode = Mask(r, "mr_mode", d.MRMode)
		d.Threading = chosen(r, "threading", d.Threading)
		d.DataProgress = chosen(r, "data_progress", d.DataProgress)
		d.ControlProgress = chosen(r, "control_progress", d.ControlProgress)
		d.ResourceMgmt = chosen(r, "resource_mgmt", d.ResourceMgmt)
		d.AVType = chosen(r, "av_type", d.AVType)
		d.TClass = r.classOf(d.TClass)
		d.Caps = Mask(r, "caps", d.Caps)
	}
	if h.EP != nil {
		h.EP.MemTagFormat = chosen(r, "mem_tag_format", h.EP.MemTagFormat)
	}
	h.Tx, h.Rx = r.strippedTx(h.Tx), r.strippedRx(h.Rx)
	return h
}

// strippedTx is Stripped for transmit attributes.
func (r *Recorder) strippedTx(t *core.TxAttr) *core.TxAttr {
	if r.without == nil || t == nil {
		return t
	}
	b := *t
	b.Caps, b.OpFlags = Mask(r, "caps", b.Caps), Mask(r, "op_flags", b.OpFlags)
	b.MsgOrder = Mask(r, "msg_order", b.MsgOrder)
	b.TClass = r.classOf(b.TClass)
	return &b
}

// strippedRx is Stripped for receive attributes.
func (r *Recorder) strippedRx(x *core.RxAttr) *core.RxAttr {
	if r.without == nil || x == nil {
		return x
	}
	b := *x
	b.Caps, b.OpFlags = Mask(r, "caps", b.Caps), Mask(r, "op_flags", b.OpFlags)
	b.MsgOrder = Mask(r, "msg_order", b.MsgOrder)
	return &b
}

// classOf returns the traffic class that reaches the stack.
func (r *Recorder) classOf(c core.TrafficClass) core.TrafficClass {
	kind := c
	if c&core.TCDSCP != 0 {
		kind = core.TCDSCP
	}
	if chosen(r, "tclass", kind) == 0 {
		return core.TCUnspec
	}
	return c
}
