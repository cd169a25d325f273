package engine

import "math"

// The end of a connection. An end that closes in order sends ExtEnd behind its last message, transmits the rest of
// its queue, and then closes the transport. The peer receives everything before the end of the stream, and knows
// from ExtEnd that nothing is missing (ErrGoodbye). Without ExtEnd the process or the path may have failed
// (ErrPeerClose).

// goodbye is the state of a connection's end.
type goodbye struct {
	owed uint64 // stream position up to which the peer must have it before we close
	all  uint64 // the same with answers and ExtEnd
	why  error  // why nothing can be sent any more, of a Broken connection

	sentEnd     bool // ExtEnd was queued: we send no more messages
	receivedEnd bool // the peer sends no more messages
}

// owedAll stands for the end of the stream while that is unknown.
const owedAll = math.MaxUint64

// due is the position up to which the peer must have the stream. It ends at end at present.
func (g *goodbye) due(all bool, end uint64) uint64 {
	switch {
	case g.owed == owedAll:
		return end
	case all:
		return g.all
	}
	return g.owed
}

// reason is why a connection has ended. After ExtEnd the end of the transport is a goodbye, however the transport
// reports it.
func (g *goodbye) reason(err error, broken bool) error {
	switch {
	// The peer has said so.
	case g.receivedEnd:
		return ErrGoodbye
	// The first error, which broke the connection, tells more than its end.
	case broken && err == ErrPeerClose:
		return g.why
	}
	return err
}

// final reports whether err alone says why a connection has ended.
func final(err error) bool {
	switch err {
	case ErrClosed, ErrProtocol, ErrAccess, ErrPersist, ErrAuth, ErrRefused, ErrUnsupported:
		return true
	}
	return false
}
