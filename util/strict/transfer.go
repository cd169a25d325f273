package strict

import (
	"slices"

	"gofabric/core"
)

// transfer is a data transfer. It exists until it is posted below or, if its completion goes through a queue of
// this package, until that completion.
type transfer struct {
	core.Op // one buffer and its descriptor are in IOV and Descs
	s       *state
	below   lower
	flags   core.OpFlags // those of the call, or the defaults

	tracked bool // its completion goes through a queue of this package
	seq     uint64
	id      core.OpContext // its context in the stack below
	lent    bool           // Ctx is in domain.inUse
	silent  bool           // a success has no entry
	swallow bool           // its error is not reported: it was canceled for remote CQ data
	regions []*region
	prefix  int
	first   []byte // the buffer with its prefix

	array [][]byte // the application's iov array
	same  [][]byte // what was in it, with FI_ASYNC_IOV
	sends bool     // the application must not change the buffers meanwhile
	sum   uint64   // checksum of the buffers
}

// needs has what each operation needs: a capability of the endpoint, and rights to the local and remote memory.
var needs = [...]struct {
	caps          core.Caps
	local, remote core.Access
}{
	core.OpRecv:          {core.CapMsg, core.AccessRecv, 0},
	core.OpSend:          {core.CapMsg, core.AccessSend, 0},
	core.OpTRecv:         {core.CapTagged, core.AccessRecv, 0},
	core.OpTSend:         {core.CapTagged, core.AccessSend, 0},
	core.OpRead:          {core.CapRMA, core.AccessRead, core.AccessRemoteRead},
	core.OpWrite:         {core.CapRMA, core.AccessWrite, core.AccessRemoteWrite},
	core.OpAtomic:        {core.CapAtomic, core.AccessWrite, core.AccessRemoteWrite},
	core.OpFetchAtomic:   {core.CapAtomic, core.AccessWrite, core.AccessRemoteRead | core.AccessRemoteWrite},
	core.OpCompareAtomic: {core.CapAtomic, core.AccessWrite, core.AccessRemoteRead | core.AccessRemoteWrite},
}

func (t *transfer) is(op core.OpType) bool { return t.Call.Op() == op }

// message reports whether the transfer is a message, or a receive of one.
func (t *transfer) message() bool { return needs[t.Call.Op()].remote == 0 }

// probes reports whether it is a receive that looks for a message that has arrived.
func (t *transfer) probes() bool { return t.flags&(core.OpPeek|core.OpClaim|core.OpDiscard) != 0 }

// multi reports whether it is a buffer for many messages.
func (t *transfer) multi() bool { return t.flags&core.OpMultiRecv != 0 }

func (t *transfer) misuse(err core.Errno, format string, args ...any) error {
	return t.s.d.h.misuse(t.Call.String(), err, format, args...)
}

// begin checks t and prepares it for the post below.
func (t *transfer) begin() error {
	for _, step := range steps {
		if err := step(t); err != nil {
			return err
		}
	}
	dir := t.s.dir(&t.Op)
	if t.Call.Inject() || t.s.ep != nil && dir.q == nil {
		return nil
	}
	if t.s.full(dir) {
		return core.ErrAgain
	}
	t.tracked, t.silent = true, dir.quiet && t.flags&core.OpCompletion == 0
	if t.flags&core.OpPeek == 0 && t.flags&(core.OpClaim|core.OpDiscard) != 0 {
		t.s.d.mu.Lock()
		t.id = t.s.d.claims[claim{t.s, t.Ctx}]
		delete(t.s.d.claims, claim{t.s, t.Ctx})
		t.s.d.mu.Unlock()
	}
	if dir.counted {
		t.regions, t.lent = nil, false // a counter may tell the application that the buffers are free
		return nil
	}
	if t.sends = !t.Call.Receives() && !t.is(core.OpRead) && t.flags&core.OpInject == 0; t.sends {
		t.sum = sumOf(t.IOV)
	}
	if t.s.info.Mode&core.ModeAsyncIOV != 0 && len(t.array) > 1 {
		t.same = slices.Clone(t.array)
	}
	return nil
}

// strip removes the provider's prefix from messages (fi_getinfo(3), FI_MSG_PREFIX).
func (t *transfer) strip() error {
	size := t.s.info.EP.MsgPrefixSize
	if size == 0 || !t.message() || len(t.IOV) == 0 && t.probes() {
		return nil
	}
	if len(t.IOV) == 0 || len(t.IOV[0]) < size {
		return t.misuse(core.ErrTooSmall, "the first buffer has no room for the %d bytes that FI_MSG_PREFIX puts in front of the message (msg_prefix_size), and "+
			"they must be in one piece. On hardware: the provider writes its header there, over the memory behind the buffer", size)
	}
	t.prefix, t.first = size, t.IOV[0]
	t.IOV[0] = t.first[size:]
	return nil
}

// lend checks what the provider borrows: buffers, by their descriptors, and the context.
func (t *transfer) lend() error {
	d := t.s.d
	if !t.Call.Inject() && (t.flags&core.OpInject == 0 || t.is(core.OpRead)) {
		for _, l := range []struct {
			iov  [][]byte
			desc *[]core.Desc
			need core.Access
		}{{t.IOV, &t.Descs, needs[t.Call.Op()].local}, {t.Result, &t.ResultDescs, core.AccessRead}, {t.Compare, &t.CompareDescs, core.AccessWrite}} {
			below, used, err := d.local(t.Call.String(), l.iov, *l.desc, l.need)
			if err != nil {
				return err
			}
			*l.desc, t.regions = below, append(t.regions, used...)
		}
	}
	mode := t.s.info.Mode
	if t.Call.Receives() {
		mode |= t.s.info.Rx.Mode
	} else {
		mode |= t.s.info.Tx.Mode
	}
	if mode&(core.ModeContext|core.ModeContext2) == 0 || t.Call.Inject() || t.Ctx == 0 || t.probes() {
		return nil
	}
	d.mu.Lock()
	t.lent = !d.inUse[t.Ctx]
	d.mu.Unlock()
	if !t.lent {
		return t.misuse(core.ErrInval, "the context %#x belongs to an operation that has not completed, but %s requires a separate context for each operation. On hardware: %s, "+
			"and two operations destroy each other's", uint64(t.Ctx), mode&(core.ModeContext|core.ModeContext2), d.k.WhyContext)
	}
	return nil
}

// post tracks t and posts it below.
func (t *transfer) post() error {
	if t.tracked {
		t.s.d.track(t)
	}
	err := t.postBelow()
	if err != nil && t.tracked {
		t.s.d.end(t)
	}
	return err
}

func (t *transfer) postBelow() error {
	op := t.Op
	if t.tracked {
		op.Ctx = t.id
	}
	if op.Call.OneBuffer() {
		op.Buf = op.IOV[0]
		if len(op.Descs) > 0 {
			op.Desc = op.Descs[0]
		}
		op.IOV, op.Descs = nil, nil
	}
	return t.below.Post(op)
}
