package core

import "context"

// Object has the methods that all fabric objects have (struct fid, fabric(7)).
type Object interface {
	// Close frees the object (fi_close(3)). It fails with ErrBusy while other objects still use it. Do not call
	// other methods of a closed object. A method that runs concurrently returns an error.
	Close() error
}

// made returns an object that an open call made, or nil with the call's error.
func made[T any](object *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}

// Fabric is an open fabric: a network that its domains share (fi_fabric(3)).
type Fabric struct{ d FabricDriver }

// NewFabric returns a fabric on a driver that was not opened with OpenFabric.
func NewFabric(d FabricDriver) *Fabric { return &Fabric{d} }

// Driver returns the provider's side of the fabric.
func (f *Fabric) Driver() FabricDriver { return f.d }

// Close closes the fabric (fi_close(3)). The error is ErrBusy while an object of it is open.
func (f *Fabric) Close() error { return f.d.Close() }

// Attr returns the fabric's attributes. They belong to the caller.
func (f *Fabric) Attr() *FabricAttr { return f.d.Attr() }

// OpenDomain opens access to the network through one interface (fi_domain(3)).
func (f *Fabric) OpenDomain(info *Info) (*Domain, error) {
	d, err := f.d.OpenDomain(info)
	return made(&Domain{d: d, f: f}, err)
}

// OpenPassiveEndpoint opens a listener for connections (fi_passive_ep(3)), for MSG endpoints only.
func (f *Fabric) OpenPassiveEndpoint(info *Info) (*PassiveEndpoint, error) {
	p := &PassiveEndpoint{}
	var err error
	p.d, err = f.d.OpenPassiveEndpoint(info, p)
	return made(p, err)
}

// OpenEQ opens an event queue (fi_eq_open(3)).
func (f *Fabric) OpenEQ(attr EQAttr) (*EventQueue, error) {
	d, err := f.d.OpenEQ(attr, attr.WaitSet.driver())
	return made(&EventQueue{d}, err)
}

// OpenWait opens a wait set (fi_wait_open(3)).
func (f *Fabric) OpenWait(attr WaitAttr) (*WaitSet, error) {
	d, err := f.d.OpenWait(attr)
	return made(&WaitSet{d}, err)
}

// TryWait checks whether a thread may block on the wait objects of queues, counters and wait sets (fi_trywait(3)).
// It returns nil if so, and ErrAgain if one of them has something to read.
func (f *Fabric) TryWait(objs ...Object) error {
	drivers := make([]any, len(objs))
	for i, o := range objs {
		drivers[i] = driverOf(o)
	}
	return f.d.TryWait(drivers...)
}

// driverOf returns the driver of a queue, counter or wait set, and nil for other objects.
func driverOf(o Object) any {
	switch x := o.(type) {
	case *CompletionQueue:
		return x.driver()
	case *EventQueue:
		return x.driver()
	case *Counter:
		return x.driver()
	case *WaitSet:
		return x.driver()
	}
	return nil
}

// PassiveEndpoint listens for connection requests, which arrive as EventConnReq on the bound event queue (fi_cm(3)).
type PassiveEndpoint struct{ d PassiveDriver }

// Close stops listening (fi_close(3)).
func (p *PassiveEndpoint) Close() error { return p.d.Close() }

// BindEQ binds the event queue for connection requests (fi_pep_bind(3)). flags must be 0.
func (p *PassiveEndpoint) BindEQ(eq *EventQueue, flags BindFlags) error {
	return p.d.BindEQ(eq.driver(), flags)
}

// Listen starts to listen for connection requests (fi_listen(3)).
func (p *PassiveEndpoint) Listen() error { return p.d.Listen() }

// Reject refuses a connection request (fi_reject(3)). handle is Info.Handle of the request. param is private data for
// the peer, at most OptCMDataSize bytes.
func (p *PassiveEndpoint) Reject(handle Handle, param []byte) error { return p.d.Reject(handle, param) }

// Name returns the address of the listener (fi_getname(3)).
func (p *PassiveEndpoint) Name() (Addr, error) { return p.d.Name() }

// SetName changes the address of the listener, before Listen (fi_setname(3)).
func (p *PassiveEndpoint) SetName(a Addr) error { return p.d.SetName(a) }

// GetOpt returns the value of an option (fi_getopt(3)).
func (p *PassiveEndpoint) GetOpt(opt EPOpt) (int, error) { return p.d.GetOpt(opt) }

// SetOpt sets an option (fi_setopt(3)).
func (p *PassiveEndpoint) SetOpt(opt EPOpt, value int) error { return p.d.SetOpt(opt, value) }

// WaitAttr is struct fi_wait_attr (fi_poll(3)).
type WaitAttr struct {
	WaitObj WaitObj
	Flags   uint64 // must be 0: there are no flags
}

// WaitSet waits for any of the queues and counters that were opened with it (fi_wait(3)).
type WaitSet struct{ d WaitDriver }

// driver returns the set's driver, or nil if w is nil.
func (w *WaitSet) driver() WaitDriver {
	if w == nil {
		return nil
	}
	return w.d
}

// Close frees the set (fi_close(3)). The error is ErrBusy while it has members.
func (w *WaitSet) Close() error { return w.d.Close() }

// Wait waits until one of the members has something to read (fi_wait(3)). It returns ErrTimedOut if ctx ends first.
func (w *WaitSet) Wait(ctx context.Context) error { return w.d.Wait(ctx) }

// WaitFD returns the descriptor to poll (FI_GETWAIT). Call Fabric.TryWait before you block on it.
func (w *WaitSet) WaitFD() (int, error) { return w.d.WaitFD() }

// PollAttr is struct fi_poll_attr (fi_poll(3)).
type PollAttr struct {
	Flags uint64 // must be 0: there are no flags
}

// PollSet makes progress on several queues and counters and reports those that have something to read (fi_poll(3)).
type PollSet struct{ d PollDriver }

// Close frees the set (fi_close(3)). The error is ErrBusy while it has members.
func (p *PollSet) Close() error { return p.d.Close() }

// Add adds a completion queue or counter (fi_poll_add(3)). A second Add of an object has no effect.
func (p *PollSet) Add(obj Object) error { return p.d.Add(driverOf(obj), obj) }

// Del removes a queue or counter (fi_poll_del(3)). Call it before you close the object.
func (p *PollSet) Del(obj Object) error { return p.d.Del(driverOf(obj)) }

// Poll stores the objects that have something to read in ready, and returns how many there are (fi_poll(3)). It does
// not wait.
func (p *PollSet) Poll(ready []Object) (int, error) { return p.d.Poll(ready) }
