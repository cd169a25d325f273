package engine

import "gofabric/internal/xnet/wire"

// A stream can move: between two processes of this host, from the transport that it began on to a socket that costs less. It is the transport's affair
// (wire.ExtOffer, ExtMoved); the connection carries the words, and its bytes go on without a gap.

// Mover is a transport whose streams can move.
type Mover interface {
	// Heard brings what the transport at the other end of c says: an ExtOffer or ExtMoved. body, borrowed, begins with the kind. It is called in the middle of
	// Receive, and must not call the engine. An error ends the connection.
	Heard(c *Conn, kind wire.ExtKind, body []byte) error
}

// Say queues words of the transport for the transport at the other end, which must be one of this module (Ours).
func (c *Conn) Say(body []byte) {
	if c.state == Connected && c.Ours {
		c.stageExt(body)
	}
}

// SetMover gives the connections that share the configuration of c a Mover, if they have none.
func (c *Conn) SetMover(m Mover) {
	if c.cfg.Mover == nil {
		c.cfg.Mover = m
	}
}
