package engine

import "gofabric/internal/xnet/wire"

// Send is an operation to post. The driver fills it in and passes it to Conn.Submit, which copies it.
type Send struct {
	// KindSend, KindRead, KindWrite, KindAtomic, KindFetch or KindCompare with Atomic, or KindColl (SubmitColl).
	Kind    Kind
	Tagged  bool
	HasData bool
	Inject  bool // copy the payload, report errors only (FI_INJECT)
	Copy    bool // copy the payload
	Ack     bool // complete when the peer has acknowledged it (FI_DELIVERY_COMPLETE)
	Commit  bool // and has made it persistent (FI_COMMIT_COMPLETE)
	Match   bool // with Ack, of KindSend: complete when the peer has matched it (FI_MATCH_COMPLETE)
	Silent  bool // no queue entry on success
	Fence   bool // FI_FENCE: this and all later operations wait until all before are complete
	Reads   bool // with Fence: wait only for operations that read (FI_ORDER_WAR, FI_ORDER_SAR)
	Ctx     uint64
	Flags   uint64
	Tag     uint64
	Data    uint64
	IOV     [MaxIOV][]byte
	NIOV    int
	RMA     [MaxIOV]wire.RMAIov
	NRMA    int
	Atomic  *Atomic // of atomic operations; Submit copies it
	Mark    uint8   // the driver's; the completion has it again
	// Owner gets the end of the operation, in place of the application's queues and counters; nil: it is the
	// application's.
	Owner Owner
}

// SetIOV sets the payload: at most MaxIOV parts.
func (s *Send) SetIOV(iov [][]byte) error {
	if len(iov) > MaxIOV {
		return ErrTooLong
	}
	s.NIOV = copy(s.IOV[:], iov)
	return nil
}

// Len returns the length of the payload in bytes.
func (s *Send) Len() int {
	if s.NIOV == 1 {
		return len(s.IOV[0])
	}
	n := 0
	for _, b := range s.IOV[:s.NIOV] {
		n += len(b)
	}
	return n
}

// Completion returns the Completion of a send that is complete.
func (s *Send) Completion(src uint64) Completion {
	return Completion{
		Kind: s.Kind, Silent: s.Silent || s.Inject, Inject: s.Inject, Ctx: s.Ctx, Flags: s.Flags, Len: uint64(s.Len()),
		Tag: s.Tag, Data: s.Data, Src: src, Mark: s.Mark, Owner: s.Owner,
	}
}

// aborts reports whether s says to a peer that a collective group is given up.
func (s *Send) aborts() bool { return s.Kind == KindColl && s.Data&wire.CollAbort != 0 }
