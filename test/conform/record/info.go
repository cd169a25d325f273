package record

import "gofabric/core"

// Asked records a call of GetInfo. It keeps the hints of each result until something is opened with that.
func (r *Recorder) Asked(flags core.InfoFlags, hints *core.Info, list []*core.Info, err error) {
	noteFlags(r, "fi_getinfo", flags, err)
	if hints == nil {
		return
	}
	if err != nil {
		r.wishes(hints, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, info := range list {
		r.asked[info] = hints.Dup()
	}
}

// opened records that an endpoint was opened with info: the hints were granted.
func (r *Recorder) opened(info *core.Info) {
	r.mu.Lock()
	hints := r.asked[info]
	r.mu.Unlock()
	if hints != nil {
		r.wishes(hints, nil)
	}
	if info != nil {
		r.value("protocol", uint64(info.EP.Protocol), nil)
		r.value("addr_format", uint64(info.AddrFormat), nil)
		r.value("ep_type", uint64(info.EP.Type), nil)
	}
}

// wishes records what hints request. A refusal counts only if the hints request one thing.
func (r *Recorder) wishes(h *core.Info, err error) {
	r.bits("caps", uint64(h.Caps), err)
	r.bits("mode", uint64(h.Mode), err)
	if d := h.Domain; d != nil {
		r.bits("mr_mode", uint64(d.MRMode), err)
		r.value("threading", uint64(d.Threading), err)
		r.value("data_progress", uint64(d.DataProgress), err)
		r.value("control_progress", uint64(d.ControlProgress), err)
		r.value("resource_mgmt", uint64(d.ResourceMgmt), err)
		r.value("av_type", uint64(d.AVType), err)
		r.class(d.TClass, err)
	}
	if h.EP != nil {
		r.value("mem_tag_format", h.EP.MemTagFormat, err)
	}
	if t := h.Tx; t != nil {
		r.bits("msg_order", uint64(t.MsgOrder), err)
		r.bits("op_flags", uint64(t.OpFlags), err)
		r.class(t.TClass, err)
	}
	if x := h.Rx; x != nil {
		r.bits("msg_order", uint64(x.MsgOrder), err)
		r.bits("op_flags", uint64(x.OpFlags), err)
	}
}

// class records a traffic class.
func (r *Recorder) class(c core.TrafficClass, err error) {
	if c&core.TCDSCP != 0 {
		c = core.TCDSCP
	}
	r.value("tclass", uint64(c), err)
}
