package endpoint

import (
	"net/netip"

	"gofabric/av"
	"gofabric/core"
)

// AddressVector is an address vector of a domain (fi_av(3)). It adds the event queue for asynchronous insertions to
// av.Table.
type AddressVector struct {
	*av.Table
	d    *Domain
	self *core.AddressVector
	eq   *EventQueue // guarded by the domain's lock
}

// OpenAV opens an address vector (fi_av_open(3)).
func (d *Domain) OpenAV(attr core.AVAttr, self *core.AddressVector) (core.AVDriver, error) {
	if err := d.allowIDs("fi_av_open", attr.Flags&core.AVUserID != 0); err != nil {
		return nil, err
	}
	format := vectorFormat(d.info.AddrFormat)
	var t *av.Table
	var err error
	keyed := d.info.Domain.AuthKeySize == core.AVAuthKey
	if keyed && attr.Name != "" {
		return nil, d.cfg.Names.Error("fi_av_open", attr.Name, NoPeer, core.ErrNoSys, "vectors with authorization keys cannot be shared")
	}
	if attr.Name != "" {
		t, err = av.NewShared(attr, d.cfg.Names.Provider+" "+d.Name(), format, d.resolve)
	} else {
		t, err = av.New(attr, format, d.resolve)
	}
	if err != nil {
		return nil, err
	}
	if keyed {
		t.UseAuthKeys(MaxEPAuthKey)
	}
	d.Ref()
	return &AddressVector{Table: t, d: d, self: self}, nil
}

// resolve resolves names for address vectors.
func (d *Domain) resolve(node, service string) ([]netip.AddrPort, error) {
	if d.cfg.Host == nil {
		return nil, core.ErrNoSys
	}
	return d.cfg.Host.Resolve(node, service, false, false)
}

// allowIDs refuses user identifiers in a domain that was opened without them. Only such domains pay for the lookup
// in each completion.
func (d *Domain) allowIDs(op string, asked bool) error {
	if !asked || d.info.Caps&core.CapAVUserID != 0 {
		return nil
	}
	return d.cfg.Names.Error(op, d.Name(), NoPeer, core.ErrOpNotSupp, "ask GetInfo for CapAVUserID")
}

// Insert is fi_av_insert(3).
func (v *AddressVector) Insert(addrs []core.Addr, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	if err := v.d.allowIDs("fi_av_insert", flags&core.InsertUserID != 0); err != nil {
		return 0, err
	}
	return v.Table.Insert(addrs, fi, flags, context...)
}

// InsertSym is fi_av_insertsym(3).
func (v *AddressVector) InsertSym(node string, nodecnt int, service string, svccnt int, fi []core.FIAddr, flags core.InsertFlags, context ...any) (int, error) {
	if err := v.d.allowIDs("fi_av_insertsym", flags&core.InsertUserID != 0); err != nil {
		return 0, err
	}
	return v.Table.InsertSym(node, nodecnt, service, svccnt, fi, flags, context...)
}

// Lookup is fi_av_lookup(3). Unlike the Table's it must not be called locked: for a shared vector it first reports
// the changes of other processes to the endpoints.
func (v *AddressVector) Lookup(fi core.FIAddr) (core.Addr, error) {
	v.Follow()
	return v.Table.Lookup(fi)
}

// vectorFormat returns the format of a vector's addresses. With a generic format each address has its own.
func vectorFormat(f core.AddrFormat) core.AddrFormat {
	if f == core.FormatSockaddr || f == core.FormatUnspec {
		return core.FormatSockaddrIP
	}
	return f
}

// BindEQ binds the queue for insertion events (fi_av_bind(3)).
func (v *AddressVector) BindEQ(q core.EQDriver, flags core.BindFlags) error {
	const op = "fi_av_bind"
	eq, err := v.d.cfg.Names.QueueOf(op, q)
	if err != nil {
		return err
	}
	if flags != 0 {
		return v.d.cfg.Names.Error(op, v.d.Name(), NoPeer, core.ErrBadFlags, "the flags must be 0")
	}
	v.d.prog.Lock()
	defer v.d.prog.Unlock()
	if err := v.BindEvents(vectorEvents{v, eq}); err != nil {
		return err
	}
	eq.Ref()
	v.eq = eq
	return nil
}

// Close fails with ErrBusy while an endpoint uses the vector, a set of it is open or insertions are in progress
// (fi_close(3)). Events stay in the queue.
func (v *AddressVector) Close() error {
	if err := v.d.closeChild(v.Table.Close); err != nil {
		return err
	}
	if v.eq != nil {
		v.eq.Unref()
	}
	return nil
}

// vectorEvents reports the insertions of a vector to its event queue. It implements av.Events.
type vectorEvents struct {
	v  *AddressVector
	eq *EventQueue
}

// Inserted implements av.Events.
func (e vectorEvents) Inserted(n int, context any) {
	e.eq.Push(core.EQEvent{Type: core.EventAVComplete, Object: e.v.self, Data: uint64(n), Context: context})
}

// Refused implements av.Events.
func (e vectorEvents) Refused(position int, err core.Errno, detail string, context any) {
	e.eq.PushErr(core.EQErrEntry{Object: e.v.self, Context: context, Data: uint64(position), Err: err, Detail: detail})
}
