package strict

import (
	"slices"

	"gofabric/core"
)

// kind is what an operation does.
type kind uint8

const (
	send kind = iota
	read
	write
	atomicRead
	atomicWrite
	recv
)

// access is what the local buffers of a kind must be registered for.
var access = [...]core.Flags{send: core.Send, read: core.Read, write: core.Write, atomicRead: core.Write, atomicWrite: core.Write, recv: core.Recv}

// call is a data transfer call of the application.
type call struct {
	op      string // the C name
	kind    kind
	iov     [][]byte
	desc    []core.Desc
	result  [][]byte // of fetching atomics
	rdesc   []core.Desc
	compare [][]byte // of comparing atomics
	cdesc   []core.Desc
	remote  []core.RMAIov
	get     bool // of fetching atomics: it changes nothing
	peer    core.FIAddr
	ctx     core.Context
	flags   core.Flags
	inject  bool // no completion, and the buffer is the caller's again at once
	data    bool // carries remote CQ data
	value   uint64
	tagged  bool
	tag     uint64
	ignore  uint64

	// below posts the call: with what is left of the buffers when the prefix is off, the descriptors that the stack below knows, and a context.
	below func(c *call, ctx core.Context) error

	o *op
}

func (c *call) message() bool { return c.kind == send || c.kind == recv }

// submit checks a call and posts it.
func (s *state) submit(c *call) error {
	d := s.d
	if err := d.enter(c.op); err != nil {
		return err
	}
	defer d.leave()
	if err := s.check(c); err != nil {
		return err
	}
	o := &op{s: s, name: c.op, ctx: c.ctx, rx: c.kind == recv, tagged: c.tagged}
	if err := s.prefix(c, o); err != nil {
		return err
	}
	if err := s.lend(c, o); err != nil {
		return err
	}
	if s.traced(o.rx) && !c.inject {
		if depth := s.depth(o.rx); depth > 0 && s.underWay(o.rx) >= depth {
			return core.ErrAgain
		}
		c.o = o
		s.prepare(c, o)
	}
	if o.rx {
		return s.down(c)
	}
	return s.ordered(c)
}

// prepare makes o ready to be tracked.
func (s *state) prepare(c *call, o *op) {
	quiet := s.txQuiet
	if o.rx {
		quiet = s.rxQuiet
	}
	o.silent = quiet && c.flags&core.Completion == 0
	o.multi = c.flags&core.MultiRecv != 0
	o.peek, o.claim = c.flags&core.Peek != 0, c.flags&core.Claim != 0
	if o.claim && !o.peek || c.flags&core.Discard != 0 && !o.peek {
		s.d.mu.Lock()
		o.below = s.d.claims[claim{s, c.ctx}]
		delete(s.d.claims, claim{s, c.ctx})
		s.d.mu.Unlock()
	}
	if o.rx && s.rxCounted || !o.rx && s.txCounted {
		o.regions, o.lent = nil, false // the application may know by a counter that it has them back
		return
	}
	if !o.rx && c.kind != read && c.flags&core.Inject == 0 {
		o.sends, o.sum = slices.Clone(c.iov), sumOf(c.iov)
	}
	if s.info.Mode&core.ModeAsyncIOV != 0 && len(c.iov) > 1 && o.iov == nil {
		o.iov, o.same = c.iov, slices.Clone(c.iov)
	}
}

// down posts a call below.
func (s *state) down(c *call) error {
	if c.o == nil {
		return c.below(c, c.ctx)
	}
	s.d.track(c.o)
	err := c.below(c, c.o.below)
	if err != nil {
		s.d.end(c.o)
	}
	return err
}

// prefix takes the provider's space off the front of messages (fi_getinfo(3), FI_MSG_PREFIX).
func (s *state) prefix(c *call, o *op) error {
	size := s.info.EP.MsgPrefixSize
	if size == 0 || !c.message() || len(c.iov) == 0 && c.flags&(core.Peek|core.Claim|core.Discard) != 0 {
		return nil
	}
	if len(c.iov) == 0 || len(c.iov[0]) < size {
		return s.d.o.misuse(c.op, core.ErrTooSmall, "the first buffer has no room for the %d bytes that FI_MSG_PREFIX puts in front of the message (msg_prefix_size), and "+
			"they must be in one piece. On hardware: the provider writes its header there, over whatever is next to the buffer", size)
	}
	o.prefix, o.first = size, c.iov[0]
	if s.info.Mode&core.ModeAsyncIOV != 0 && len(c.iov) > 1 {
		o.iov, o.same = c.iov, slices.Clone(c.iov)
	}
	rest := slices.Clone(c.iov)
	rest[0] = rest[0][size:]
	c.iov = rest
	return nil
}

// lend checks what the provider is lent: buffers by their descriptors, and the context.
func (s *state) lend(c *call, o *op) error {
	d := s.d
	if !c.inject && (c.flags&core.Inject == 0 || c.kind == read) {
		for _, l := range []struct {
			iov  [][]byte
			desc *[]core.Desc
			need core.Flags
		}{{c.iov, &c.desc, access[c.kind]}, {c.result, &c.rdesc, core.Read}, {c.compare, &c.cdesc, core.Write}} {
			below, used, err := d.local(c.op, l.iov, *l.desc, l.need)
			if err != nil {
				return err
			}
			*l.desc, o.regions = below, append(o.regions, used...)
		}
	}
	mode := s.info.Mode
	if o.rx {
		mode |= s.info.Rx.Mode
	} else {
		mode |= s.info.Tx.Mode
	}
	if mode&(core.ModeContext|core.ModeContext2) == 0 || c.inject || c.ctx == 0 || c.flags&(core.Peek|core.Claim|core.Discard) != 0 {
		return nil
	}
	d.mu.Lock()
	used := d.inUse[c.ctx]
	d.mu.Unlock()
	if used {
		return d.o.misuse(c.op, core.ErrInval, "the context %#x belongs to an operation that has not completed, but %s demands one of its own for each. On hardware: %s, "+
			"and two operations destroy each other's", uint64(c.ctx), mode&(core.ModeContext|core.ModeContext2), d.k.WhyContext)
	}
	o.lent = true
	return nil
}
