package strict

import "gofabric/core"

// This file checks the limits of calls, as an adapter has them.

// steps are the checks of a transfer before it is posted.
var steps = [...]func(*transfer) error{(*transfer).checkState, (*transfer).checkCaps, (*transfer).checkSizes, (*transfer).checkIOV, (*transfer).checkNumbers,
	(*transfer).checkPeer, (*transfer).checkRemote, (*transfer).strip, (*transfer).lend}

// checkState refuses calls on a closed or not yet enabled endpoint.
func (t *transfer) checkState() error {
	switch {
	case t.s.closed.Load():
		return t.misuse(core.ErrBadF, "the object is closed. On hardware: its memory is freed, and the call crashes or corrupts memory")
	case !t.s.enabled.Load():
		return t.misuse(core.ErrOpBadState, "the endpoint is not enabled (fi_enable). On hardware: there is no queue yet to post to, and the call crashes or fails")
	}
	return nil
}

// checkCaps refuses operations without the capability that the application had to ask for.
func (t *transfer) checkCaps() error {
	caps, need := t.s.info.Caps, needs[t.Call.Op()].caps
	if t.Call.Receives() && t.multi() && caps&core.CapMultiRecv == 0 {
		return t.misuse(core.ErrBadFlags, "FI_MULTI_RECV was not among the capabilities that the endpoint was opened with. On hardware: the buffer takes one message")
	}
	if caps&need == 0 {
		return t.misuse(core.ErrNoSys, "%s was not among the capabilities that the endpoint was opened with. On hardware: the call does not exist, or crashes",
			need.String())
	}
	return nil
}

func (t *transfer) checkSizes() error {
	info, n, extra := t.s.info, t.Len(), 0
	if t.message() {
		extra = info.EP.MsgPrefixSize // the prefix does not count towards limits (fi_getinfo(3))
	}
	switch limit := info.Tx.InjectSize; {
	case t.Call.Receives():
		return nil
	case (t.Call.Inject() || t.flags&core.OpInject != 0) && !t.is(core.OpRead) && n > limit+extra:
		return t.misuse(core.ErrInval, "%d bytes are more than can be injected (inject_size is %d): use a call with a completion", n, limit)
	case info.EP.MaxMsgSize > 0 && n-extra > info.EP.MaxMsgSize:
		return t.misuse(core.ErrMsgSize, "%d bytes are more than one transfer can have (max_msg_size is %d): split it", n, info.EP.MaxMsgSize)
	}
	return nil
}

func (t *transfer) checkIOV() error {
	info := t.s.info
	limit := info.Tx.IOVLimit
	if t.Call.Receives() {
		limit = info.Rx.IOVLimit
	}
	if limit > 0 && len(t.IOV) > limit {
		return t.misuse(core.ErrInval, "%d buffers in one operation, but the adapter takes %d (iov_limit)", len(t.IOV), limit)
	}
	if n, limit := max(len(t.RMAIOV), len(t.RMAIOC)), info.Tx.RMAIOVLimit; limit > 0 && n > limit {
		return t.misuse(core.ErrInval, "%d remote ranges in one operation, but the adapter takes %d (rma_iov_limit)", n, limit)
	}
	return nil
}

// checkNumbers refuses tags and remote data that do not fit their fields.
func (t *transfer) checkNumbers() error {
	if bits := 8 * t.s.info.Domain.CQDataSize; t.HasData() && !t.is(core.OpRead) && bits < 64 && t.Data>>bits != 0 {
		return t.misuse(core.ErrInval, "the remote CQ data %#x has more than %d bytes (cq_data_size). On hardware: the rest is cut off", t.Data, bits/8)
	}
	if bits := t.s.d.k.TagBits; t.Call.Tagged() && bits > 0 && bits < 64 {
		top := uint64(1) << bits
		if t.Tag >= top || t.Call.Receives() && t.Ignore != ^uint64(0) && t.Ignore >= top {
			return t.misuse(core.ErrInval, "the tag %#x or its ignored bits %#x have more than %d bits (mem_tag_format is %#x). On hardware: the rest is lost, or the call fails",
				t.Tag, t.Ignore, bits, t.s.info.EP.MemTagFormat)
		}
	}
	return nil
}

// checkPeer refuses an index that no address has.
func (t *transfer) checkPeer() error {
	v := t.s.av
	if v == nil {
		return nil
	}
	if t.Call.Receives() {
		if t.Addr == core.AddrUnspec || t.s.info.Caps&core.CapDirectedRecv == 0 || t.flags&core.OpAuthKey != 0 { // the address is a key's, not a peer's
			return nil
		}
	} else if t.flags&core.OpMulticast != 0 {
		return nil
	}
	if v.has(t.Addr) {
		return nil
	}
	return t.misuse(core.ErrInval, "the address %d is not in the address vector: it was not inserted, or refused (FI_ADDR_NOTAVAIL), or removed. On hardware: the "+
		"provider does not check, and reads beyond its table, or sends to the peer that has this index now", int64(t.Addr))
}
