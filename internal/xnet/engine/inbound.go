package engine

import "gofabric/internal/xnet/wire"

// stallReason says why the connection takes no bytes.
type stallReason uint8

const (
	flowing       stallReason = iota // it does
	stallUnwanted                    // the peer's unexpected messages have used up their budget
	stallReplies                     // the peer asks for more data than it reads
	stallDecision                    // the peer sent data before its request was answered
	stallRefused                     // the peer was refused too often (answers.go)
	stallDenied                      // the request had another authorization key, and can only be rejected
)

// inbound is the parser of the incoming stream: headers in pieces, the payload in progress, and bytes that wait. It
// does not know the meaning of messages, or whose stream it is. A stream may be cut anywhere; tests cut it at every
// byte.
type inbound struct {
	now   *payload // nil between messages
	kept  *kept    // nil if no bytes wait
	stall stallReason
	order wire.Order // byte order of headers in both directions
}

// kept has bytes of the stream that cannot be taken yet. A connection has it only while there are such bytes.
type kept struct {
	part  []byte               // an incomplete header or connection request
	held  []byte               // bytes that came after a stall
	space [wire.MaxHeader]byte // memory for part
	next  *kept
}

// keep returns kept and takes one from the pool if there is none.
func (in *inbound) keep(p *inboundPool) *kept {
	k := in.kept
	if k != nil {
		return k
	}
	// The pool has none: make one.
	if k = p.kepts; k == nil {
		k = &kept{}
	} else {
		p.kepts, k.next = k.next, nil
	}
	in.kept = k
	return k
}

// release gives kept back if it is empty.
func (in *inbound) release(p *inboundPool) {
	if k := in.kept; k != nil && len(k.part) == 0 && len(k.held) == 0 {
		k.part, k.held, k.next = nil, nil, p.kepts
		p.kepts, in.kept = k, nil
	}
}

// keepPart keeps the beginning of a header.
func (in *inbound) keepPart(p *inboundPool, b []byte) {
	k := in.keep(p)
	k.part = append(k.space[:0], b...)
}

// keepHeader keeps a header that is to be parsed again.
func (in *inbound) keepHeader(p *inboundPool, h *wire.Header) {
	k := in.keep(p)
	k.part = h.Append(k.space[:0], in.order)
}

// part returns the incomplete header or connection request.
func (in *inbound) part() []byte {
	if in.kept == nil {
		return nil
	}
	return in.kept.part
}

// dropPart drops the incomplete header or request.
func (in *inbound) dropPart(p *inboundPool) {
	if in.kept != nil {
		in.kept.part = nil
		in.release(p)
	}
}

// hold keeps bytes behind a stall. own says that b may be kept without a copy.
func (in *inbound) hold(p *inboundPool, b []byte, own bool) {
	k := in.keep(p)
	if own {
		k.held = b
	} else {
		k.held = append(k.held, b...)
	}
}

// takeHeld returns the bytes that hold has kept.
func (in *inbound) takeHeld(p *inboundPool) []byte {
	if in.kept == nil {
		return nil
	}
	b := in.kept.held
	in.kept.held = nil
	in.release(p)
	return b
}

// dropKept drops all bytes that wait.
func (in *inbound) dropKept(p *inboundPool) {
	in.takeHeld(p)
	in.dropPart(p)
}

// idle reports that no payload is in progress and no byte waits.
func (in *inbound) idle() bool { return in.now == nil && in.kept == nil && in.stall == flowing }

// between reports that no message is partly received.
func (in *inbound) between() bool { return in.now == nil && len(in.part()) == 0 }

// missing is how many bytes must come before the partly received header or request is complete, at least 1.
func (in *inbound) missing(connected bool) int {
	part, want := in.part(), 0
	switch have := len(part); {
	case have == 0:
	case !connected:
		want = wire.CMLen(part)
	case have < wire.BaseLen:
		want = wire.BaseLen
	default:
		want, _ = wire.PeekHeaderLen(part) // part was checked before it was kept
	}
	return max(want-len(part), 1)
}

// expect makes the next n bytes the payload in progress.
func (in *inbound) expect(p *inboundPool, kind payloadKind, n uint64) *payload {
	l := p.getPayload()
	l.kind, l.left, l.size, l.i, l.n, l.hasAck, l.match = kind, n, n, 0, 0, false, false
	in.now = l
	return l
}

// target returns the memory where the payload in progress can be received without a copy, or nil.
func (in *inbound) target() []byte {
	l := in.now
	// Short payload is copied: it usually comes together with other messages.
	if l == nil || l.left < directMin || l.i >= l.n || in.stall != flowing {
		return nil
	}
	b := l.segs[l.i]
	if uint64(len(b)) > l.left {
		b = b[:l.left]
	}
	if len(b) < directMin {
		return nil
	}
	return b
}

// header reads the header of a message from b into p.hdr, or keeps a part of it. It returns how many bytes it took.
func (in *inbound) header(p *inboundPool, b []byte) (n int, whole bool, err error) {
	if in.kept != nil && len(in.kept.part) > 0 {
		return in.headerInParts(p, b)
	}
	if len(b) >= wire.MaxHeader { // the header is complete, or wrong
		n, err = p.hdr.Decode(b, in.order)
		return n, true, err
	}
	// Not even the length of the header is known.
	if len(b) < wire.BaseLen {
		in.keepPart(p, b)
		return len(b), false, nil
	}
	if n, err = wire.PeekHeaderLen(b); err != nil {
		return 0, false, err
	}
	if len(b) < n {
		in.keepPart(p, b)
		return len(b), false, nil
	}
	_, err = p.hdr.Decode(b, in.order)
	return n, true, err
}

// headerInParts completes a header that came in pieces.
func (in *inbound) headerInParts(p *inboundPool, b []byte) (took int, whole bool, err error) {
	k := in.kept
	// add completes the part to n bytes, as far as b has them.
	add := func(n int) {
		n = min(max(n-len(k.part), 0), len(b)-took)
		k.part = append(k.part, b[took:took+n]...)
		took += n
	}
	// First the part that tells the length, then the rest.
	if add(wire.BaseLen); len(k.part) < wire.BaseLen {
		return took, false, nil
	}
	n, err := wire.PeekHeaderLen(k.part)
	if err != nil {
		return took, false, err
	}
	if add(n); len(k.part) < n {
		return took, false, nil
	}
	_, err = p.hdr.Decode(k.part, in.order)
	in.dropPart(p)
	return took, true, err
}

// request reads a connection request or answer from b, or keeps a part of it. whole begins with it and n is its
// length, or 0 if it is incomplete.
func (in *inbound) request(p *inboundPool, b []byte) (cm wire.CM, whole []byte, n int, err error) {
	whole = b
	// The beginning came before.
	if part := in.part(); len(part) > 0 {
		whole = append(part, b...)
	}
	cm, n, err = wire.ParseCM(whole)
	if err == wire.ErrShort {
		if len(in.part()) == 0 {
			whole = append([]byte(nil), b...) // its own memory, because parts of it are passed on
		}
		in.keep(p).part = whole
		return cm, nil, 0, nil
	}
	return cm, whole, n, err
}
