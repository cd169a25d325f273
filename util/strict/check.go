package strict

import (
	"gofabric/core"
)

// Limits of calls, as an adapter has them.

func (s *state) check(c *call) error {
	if err := s.alive(c.op); err != nil {
		return err
	}
	for _, look := range []func(*call) error{s.checkCaps, s.checkSizes, s.checkIOV, s.checkNumbers, s.checkPeer, s.checkRemote} {
		if err := look(c); err != nil {
			return err
		}
	}
	return nil
}

// checkCaps: what was not asked for is not there.
func (s *state) checkCaps(c *call) error {
	need := core.CapMsg
	switch {
	case c.tagged:
		need = core.CapTagged
	case c.kind == read || c.kind == write:
		need = core.CapRMA
	case c.kind == atomicRead || c.kind == atomicWrite:
		need = core.CapAtomic
	}
	if c.kind == recv && c.flags&core.MultiRecv != 0 && s.info.Caps&core.CapMultiRecv == 0 {
		return s.d.o.misuse(c.op, core.ErrBadFlags, "FI_MULTI_RECV was not among the capabilities that the endpoint was opened with. On hardware: the buffer takes one message")
	}
	if s.info.Caps&need == 0 {
		return s.d.o.misuse(c.op, core.ErrNoSys, "%s was not among the capabilities that the endpoint was opened with. On hardware: the call does not exist, or crashes",
			core.CapsString(need))
	}
	return nil
}

func (s *state) checkSizes(c *call) error {
	n := 0
	for _, b := range c.iov {
		n += len(b)
	}
	extra := 0
	if c.message() {
		extra = s.info.EP.MsgPrefixSize // does not count towards limits (fi_getinfo(3))
	}
	o := s.d.o
	switch limit := s.info.Tx.InjectSize; {
	case c.kind == recv:
		return nil
	case (c.inject || c.flags&core.Inject != 0) && c.kind != read && n > limit+extra:
		return o.misuse(c.op, core.ErrInval, "%d bytes are more than can be injected (inject_size is %d): use a call with a completion", n, limit)
	case s.info.EP.MaxMsgSize > 0 && n-extra > s.info.EP.MaxMsgSize:
		return o.misuse(c.op, core.ErrMsgSize, "%d bytes are more than one transfer can have (max_msg_size is %d): split it", n, s.info.EP.MaxMsgSize)
	}
	return nil
}

func (s *state) checkIOV(c *call) error {
	o := s.d.o
	limit := s.info.Tx.IOVLimit
	if c.kind == recv {
		limit = s.info.Rx.IOVLimit
	}
	if limit > 0 && len(c.iov) > limit {
		return o.misuse(c.op, core.ErrInval, "%d buffers in one operation, and the adapter takes %d (iov_limit)", len(c.iov), limit)
	}
	if limit = s.info.Tx.RMAIOVLimit; limit > 0 && len(c.remote) > limit {
		return o.misuse(c.op, core.ErrInval, "%d remote ranges in one operation, and the adapter takes %d (rma_iov_limit)", len(c.remote), limit)
	}
	return nil
}

// checkNumbers: tags and remote data that do not fit their fields.
func (s *state) checkNumbers(c *call) error {
	o := s.d.o
	if bits := 8 * s.info.Domain.CQDataSize; c.data && bits < 64 && c.value>>bits != 0 {
		return o.misuse(c.op, core.ErrInval, "the remote CQ data %#x has more than %d bytes (cq_data_size). On hardware: the rest is cut off", c.value, bits/8)
	}
	if format := s.info.EP.MemTagFormat; c.tagged && s.d.k.TagBits > 0 && s.d.k.TagBits < 64 {
		top := uint64(1) << s.d.k.TagBits
		if c.tag >= top || c.kind == recv && c.ignore != ^uint64(0) && c.ignore >= top {
			return o.misuse(c.op, core.ErrInval, "the tag %#x or its ignored bits %#x have more than %d bits (mem_tag_format is %#x). On hardware: the rest is lost, or the call fails",
				c.tag, c.ignore, s.d.k.TagBits, format)
		}
	}
	return nil
}

// checkPeer: an index that no address has.
func (s *state) checkPeer(c *call) error {
	v := s.av
	if v == nil {
		return nil
	}
	if c.kind == recv {
		if c.peer == core.AddrUnspec || s.info.Caps&core.CapDirectedRecv == 0 || c.flags&core.AuthKey != 0 { // that is a key's, not a peer's
			return nil
		}
	} else if c.flags&core.CapMulticast != 0 {
		return nil
	}
	if v.has(c.peer) {
		return nil
	}
	return s.d.o.misuse(c.op, core.ErrInval, "the address %d is not in the address vector: it was not inserted, or refused (FI_ADDR_NOTAVAIL), or removed. On hardware: the "+
		"provider does not check, and reads beyond its table, or sends to whoever has that place now", int64(c.peer))
}
