package engine

import "math"

// The end of a connection. An end that closes in good order says ExtEnd behind its last message, transmits the rest of
// its queue, and then closes the transport. The peer takes everything that came before the end of the stream, and knows
// by ExtEnd that nothing is missing (ErrGoodbye); without it the process or the path may have died (ErrPeerClose).

// goodbye holds the state of a connection's end.
type goodbye struct {
	owed uint64 // the position in our stream up to which the peer must have it before we close
	all  uint64 // the same with answers and ExtEnd
	why  error  // why nothing can be sent any more, of a Broken connection

	said  bool // we send no more messages
	heard bool // the peer does not
}

// owedAll is the position where the stream ends, while that cannot be told.
const owedAll = math.MaxUint64

// due is the position up to which the peer must have the stream, which ends at end for now.
func (g *goodbye) due(all bool, end uint64) uint64 {
	switch {
	case g.owed == owedAll:
		return end
	case all:
		return g.all
	}
	return g.owed
}

// reason is why a connection has ended, given the peer's last messages: behind ExtEnd the end of the transport, however
// it shows, is a goodbye.
func (g *goodbye) reason(err error, broken bool) error {
	switch {
	case g.heard:
		return ErrGoodbye
	case broken && err == ErrPeerClose:
		return g.why
	}
	return err
}

// final reports whether err says by itself why a connection has ended.
func final(err error) bool {
	switch err {
	case ErrClosed, ErrProtocol, ErrAccess, ErrPersist, ErrAuth, ErrRefused, ErrUnsupported:
		return true
	}
	return false
}
