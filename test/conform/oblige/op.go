package oblige

import (
	"errors"
	"fmt"
	"slices"

	"gofabric/core"
)

// op is an operation of the application's.
type op struct {
	name    string
	rx      bool
	message bool
	tagged  bool
	inject  bool
	multi   bool
	hasData bool
	rma     int // remote ranges
	iov     [][]byte
	desc    []core.Desc
	access  core.Flags
	result  [][]byte
	rdesc   []core.Desc
	compare [][]byte
	cdesc   []core.Desc
	flags   core.Flags
	data    uint64
	tag     uint64
	ignore  uint64
	ctx     core.Context // the application's

	// What becomes of it.
	of      core.Object // where it was posted
	below   core.Context
	regions []core.MemoryRegion
	prefix  int
	bounce  []byte   // with a prefix: what the provider receives into
	user    [][]byte // and where it belongs
}

// claim names a message that was peeked at (fi_tagged(3), FI_CLAIM).
type claim struct {
	of  core.Object
	ctx core.Context
}

// ctxBase marks contexts of this package.
const ctxBase core.Context = 0x0b11_9e00_0000_0000

// poster is what endpoints and shared receive contexts have in common.
type poster struct {
	d     *domain
	info  *core.Info
	below core.Object
	id    core.Object // the same for an endpoint and its aliases
	rx    core.Flags  // default flags of receives
}

// post readies p and has do post it.
func (s *poster) post(p *op, do func(*op) error) error {
	beyond := p.beyond(s.info)
	p.of = s.id
	err := s.ready(p)
	if err == nil {
		err = do(p)
	}
	switch {
	case err == nil && beyond != "":
		return fmt.Errorf("%s: nobody refuses %s", p.name, beyond)
	case err == nil:
		return nil
	}
	s.d.end(p)
	if beyond != "" && !errors.Is(err, core.ErrAgain) {
		return &NotOffered{beyond, err}
	}
	return err
}

// ready does what the Info demands.
func (s *poster) ready(p *op) error {
	if err := s.lend(p); err != nil {
		return err
	}
	const looks = core.Peek | core.Claim | core.Discard
	if s.info.EP.MsgPrefixSize > 0 && p.message && (len(p.iov) > 0 || p.flags&looks == 0) {
		p.makeRoom(s.info.EP.MsgPrefixSize)
	}
	p.iov = slices.Clone(p.iov) // with ModeAsyncIOV it is the provider's until the end
	return s.register(p)
}

// lend gives p a context of its own.
func (s *poster) lend(p *op) error {
	if p.inject && p.ctx == 0 {
		return nil
	}
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq++
	p.below = ctxBase | core.Context(d.seq)
	if c := (claim{s.id, p.ctx}); p.flags&(core.Claim|core.Discard) != 0 && p.flags&core.Peek == 0 && d.claims[c] != 0 {
		p.below = d.claims[c]
		delete(d.claims, c)
	}
	d.ops[p.below] = p
	return nil
}

// makeRoom puts a message behind a prefix.
func (p *op) makeRoom(size int) {
	n := size
	for _, b := range p.iov {
		n += len(b)
	}
	p.prefix, p.user, p.bounce, p.desc = size, p.iov, make([]byte, n), nil
	if !p.rx {
		at := size
		for _, b := range p.iov {
			at += copy(p.bounce[at:], b)
		}
	}
	p.iov = [][]byte{p.bounce}
}

// register registers the buffers that have no descriptor.
func (s *poster) register(p *op) error {
	if s.info.Domain.MRMode&core.MRModeLocal == 0 || p.inject && p.name != "fi_readmsg" {
		return nil
	}
	for _, l := range []struct {
		iov    [][]byte
		desc   *[]core.Desc
		access core.Flags
	}{{p.iov, &p.desc, p.access}, {p.result, &p.rdesc, core.Read}, {p.compare, &p.cdesc, core.Write}} {
		given := *l.desc
		list := make([]core.Desc, len(l.iov))
		for i, b := range l.iov {
			if i < len(given) {
				list[i] = given[i]
			}
			if len(b) == 0 || list[i] != 0 {
				continue
			}
			r, err := s.region(b, l.access)
			if err != nil {
				return err
			}
			p.regions = append(p.regions, r)
			list[i] = r.Desc()
		}
		*l.desc = list
	}
	return nil
}

func (s *poster) region(b []byte, access core.Flags) (core.MemoryRegion, error) {
	d := s.d
	d.mu.Lock()
	d.seq++
	attr := &core.MRAttr{IOV: [][]byte{b}, Access: access, RequestedKey: 1<<24 + d.seq}
	if d.info.Domain.AuthKeySize == core.AVAuthKey {
		attr.AuthAV = d.av
	}
	d.mu.Unlock()
	r, err := d.Domain.RegMR(attr)
	if err != nil || d.info.Domain.MRMode&core.MRModeEndpoint == 0 {
		return r, err
	}
	if ep, ok := s.below.(core.Endpoint); ok {
		err = r.BindEndpoint(ep)
	}
	if err == nil {
		err = r.Enable()
	}
	return r, err
}

// end forgets p and closes its regions.
func (d *domain) end(p *op) {
	d.mu.Lock()
	if d.ops[p.below] == p {
		delete(d.ops, p.below)
	}
	d.mu.Unlock()
	for _, r := range p.regions {
		_ = r.Close() // busy with an operation that goes on after all: then it is closed with the endpoint
	}
}

// forget ends all of an endpoint that is closed.
func (d *domain) forget(of core.Object) {
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

// find returns the operation of a context of the stack's, nil if it is none of this package's.
func (d *domain) find(below core.Context) *op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops[below]
}

// cancel cancels the oldest operation with a context.
func (s *poster) cancel(ctx core.Context, cancel func(core.Context) error) error {
	d := s.d
	d.mu.Lock()
	var list []core.Context
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
