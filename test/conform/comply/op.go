package comply

import (
	"errors"
	"fmt"
	"slices"

	"gofabric/core"
)

// op is an operation as the application posts it.
type op struct {
	core.Op
	ctx   core.OpContext // the application's context
	multi bool           // it takes several messages
	of    *held          // where it was posted

	// What this package adds.
	regions []core.MRDriver
	prefix  int
	bounce  []byte   // with a prefix: the provider receives into it
	user    [][]byte // and the message belongs here
}

// message reports whether p sends or receives a message.
func (p *op) message() bool { return p.Call.Op() <= core.OpTSend }

// copied reports that the provider does not need the buffers after the call returns. A read needs them.
func (p *op) copied() bool { return p.injects() && p.Call != core.CallReadMsg }

// injects reports whether p is an inject call, or has the flag.
func (p *op) injects() bool {
	return p.Call.Inject() || p.Flags&core.OpInject != 0 && !p.Call.Receives()
}

// access returns the provider's access to the buffers of p.
func (p *op) access() core.Access {
	switch p.Call.Op() {
	case core.OpRecv, core.OpTRecv:
		return core.AccessRecv
	case core.OpSend, core.OpTSend:
		return core.AccessSend
	case core.OpRead:
		return core.AccessRead
	}
	return core.AccessWrite
}

// buffers returns the buffers of p with their descriptors. An AtomicRead has no operands.
func (p *op) buffers() ([][]byte, []core.Desc) {
	switch {
	case p.Call.OneBuffer():
		return [][]byte{p.Buf}, []core.Desc{p.Desc}
	case p.Oper == core.AtomicRead:
		return nil, nil
	}
	return p.IOV, p.Descs
}

// setBuffers replaces the buffers. With ModeAsyncIOV the iov belongs to the provider until the completion.
func (p *op) setBuffers(iov [][]byte, descs []core.Desc) {
	switch {
	case iov == nil:
	case p.Call.OneBuffer():
		p.Buf, p.Desc = iov[0], 0
		if len(descs) > 0 {
			p.Desc = descs[0]
		}
	default:
		p.IOV, p.Descs = slices.Clone(iov), descs
	}
}

// claim names a message that was peeked at (fi_tagged(3), FI_CLAIM).
type claim struct {
	of  *held
	ctx core.OpContext
}

// ctxBase marks contexts of this package.
const ctxBase core.OpContext = 0x0b11_9e00_0000_0000

// poster is the common part of endpoints and shared receive contexts.
type poster struct {
	d    *domain
	info *core.Info
	ep   core.EndpointDriver // the stack's; nil for a shared receive context
	id   *held               // the same for an endpoint and its aliases
	rx   core.OpFlags        // default flags of receives
}

// multi reports whether a receive takes several messages.
func (s *poster) multi(p *core.Op) bool {
	switch {
	case !p.Call.Receives():
		return false
	case !p.Call.Default():
		return p.Flags&core.OpMultiRecv != 0
	case p.Call.Tagged() && s.info.Caps&core.CapTaggedMultiRecv == 0:
		return false
	}
	return s.rx&core.OpMultiRecv != 0 && (p.Call.OneBuffer() || len(p.IOV) == 1)
}

// post prepares an operation and calls do to post it.
func (s *poster) post(given core.Op, do func(core.Op) error) error {
	p := &op{Op: given, ctx: given.Ctx, multi: s.multi(&given), of: s.id}
	beyond := p.beyond(s.info)
	err := s.ready(p)
	if err == nil {
		err = do(p.Op)
	}
	switch {
	case err == nil && beyond != "":
		return fmt.Errorf("%s: the stack accepts %s", p.Call, beyond)
	case err == nil:
		return nil
	}
	s.d.end(p)
	if beyond != "" && !errors.Is(err, core.ErrAgain) {
		return &NotOffered{beyond, err}
	}
	return err
}

// ready does what the Info requires.
func (s *poster) ready(p *op) error {
	s.lend(p)
	iov, descs := p.buffers()
	const looks = core.OpPeek | core.OpClaim | core.OpDiscard
	if s.info.EP.MsgPrefixSize > 0 && p.message() && (len(iov) > 0 || p.Flags&looks == 0) {
		p.makeRoom(s.info.EP.MsgPrefixSize, iov)
		iov, descs = [][]byte{p.bounce}, nil
	}
	if s.info.Domain.MRMode&core.MRModeLocal != 0 && !p.copied() {
		for _, l := range []struct {
			iov    [][]byte
			descs  *[]core.Desc
			access core.Access
		}{{iov, &descs, p.access()}, {p.Result, &p.ResultDescs, core.AccessRead},
			{p.Compare, &p.CompareDescs, core.AccessWrite}} {
			var err error
			if *l.descs, err = s.register(p, l.iov, *l.descs, l.access); err != nil {
				return err
			}
		}
	}
	p.setBuffers(iov, descs)
	return nil
}

// lend gives p a context of its own.
func (s *poster) lend(p *op) {
	if p.injects() && p.ctx == 0 {
		return
	}
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq++
	p.Ctx = ctxBase | core.OpContext(d.seq)
	if c := (claim{s.id, p.ctx}); p.Flags&(core.OpClaim|core.OpDiscard) != 0 &&
		p.Flags&core.OpPeek == 0 && d.claims[c] != 0 {
		p.Ctx = d.claims[c]
		delete(d.claims, c)
	}
	d.ops[p.Ctx] = p
}

// makeRoom puts a message behind a prefix.
func (p *op) makeRoom(size int, iov [][]byte) {
	n := size
	for _, b := range iov {
		n += len(b)
	}
	p.prefix, p.user, p.bounce = size, iov, make([]byte, n)
	if !p.Call.Receives() {
		at := size
		for _, b := range iov {
			at += copy(p.bounce[at:], b)
		}
	}
}

// register registers the buffers that have no descriptor, and returns the descriptors of all.
func (s *poster) register(p *op, iov [][]byte, given []core.Desc, access core.Access) ([]core.Desc, error) {
	descs := make([]core.Desc, len(iov))
	copy(descs, given)
	for i, b := range iov {
		if len(b) == 0 || descs[i] != 0 {
			continue
		}
		r, err := s.region(b, access)
		if err != nil {
			return nil, err
		}
		p.regions = append(p.regions, r)
		descs[i] = r.Desc()
	}
	return descs, nil
}

func (s *poster) region(b []byte, access core.Access) (core.MRDriver, error) {
	d := s.d
	d.mu.Lock()
	d.seq++
	attr := &core.MRAttr{IOV: [][]byte{b}, Access: access, RequestedKey: 1<<24 + d.seq}
	var av core.AVDriver
	if d.info.Domain.AuthKeySize == core.AVAuthKey {
		av = d.av
	}
	d.mu.Unlock()
	r, err := d.DomainDriver.RegMR(attr, av)
	if err != nil || d.info.Domain.MRMode&core.MRModeEndpoint == 0 {
		return r, err
	}
	if s.ep != nil {
		err = r.Bind(s.ep, 0)
	}
	if err == nil {
		err = r.Enable()
	}
	return r, err
}

// end forgets p and closes its regions.
func (d *domain) end(p *op) {
	d.mu.Lock()
	if d.ops[p.Ctx] == p {
		delete(d.ops, p.Ctx)
	}
	d.mu.Unlock()
	for _, r := range p.regions {
		_ = r.Close() // an operation still uses it: it is closed with the endpoint
	}
}

// forget ends all operations of an endpoint that is closed.
func (d *domain) forget(of *held) {
	d.mu.Lock()
	var list []*op
	for _, p := range d.ops {
		if p.of == of {
			list = append(list, p)
		}
	}
	for c := range d.claims {
		if c.of == of {
			delete(d.claims, c)
		}
	}
	d.mu.Unlock()
	for _, p := range list {
		d.end(p)
	}
}

// find returns the operation with a context of the stack, nil if this package did not post it.
func (d *domain) find(below core.OpContext) *op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops[below]
}

// cancel cancels the oldest operation with a context.
func (s *poster) cancel(ctx core.OpContext, cancel func(core.OpContext) error) error {
	d := s.d
	d.mu.Lock()
	var list []core.OpContext
	for b, p := range d.ops {
		if p.of == s.id && p.ctx == ctx {
			list = append(list, b)
		}
	}
	d.mu.Unlock()
	if len(list) == 0 {
		return missing("fi_cancel", cancel(ctx))
	}
	var err error
	for len(list) > 0 {
		at := 0
		for i := range list {
			if list[i] < list[at] {
				at = i
			}
		}
		if err = cancel(list[at]); err == nil {
			return nil
		}
		list = append(list[:at], list[at+1:]...)
	}
	return missing("fi_cancel", err)
}
