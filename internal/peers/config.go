package peers

import (
	"time"

	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// Protocol is what differs between the providers of RDM endpoints.
type Protocol struct {
	Below      stream.Domain  // makes links
	Conn       *engine.Config // of connections
	Negotiator Negotiator
	Patience   time.Duration // how long a peer may go on refusing
	// MaxConns is how many connections there should be: the longest idle is closed when there are more. 0: any number.
	MaxConns int
	// IdleTime is how long a connection may be idle before it is closed; 0: for ever.
	IdleTime time.Duration
	// Aux is how many connections a peer may have besides its main one, for what may overtake; 0 for none, and then AuxNegotiator is not asked.
	Aux           int
	AuxNegotiator AuxNegotiator
}

// Negotiator is what the ends of a connection say to each other in its private data. Its methods are called locked. Data is borrowed; b is memory to append to.
type Negotiator interface {
	// Ask makes the private data of our request to p.
	Ask(p *Peer, b []byte) []byte
	// Asked reads that of a peer's request on c; an error refuses it.
	Asked(c *engine.Conn, data []byte) (Claim, error)
	// Take prepares p, whose request is about to be accepted on c, and makes the private data of the answer. c has what Protocol says.
	Take(p *Peer, c *engine.Conn, data, b []byte) []byte
	// Up tells that c of p is up, at either end: data is the peer's answer at the end that asked, nil at the other. It may give p another Conn and Link.
	Up(p *Peer, c *engine.Conn, data []byte)
	// Refuse makes the private data of a refusal of the request with data; crossed: because there is or will be another connection.
	Refuse(data []byte, crossed bool, b []byte) []byte
	// Refused says whether a refusal of our request with data may be because of another connection, so that it is worth waiting or asking again.
	Refused(data []byte) bool
}

// AuxNegotiator is what the ends of an auxiliary connection say to each other; see Negotiator.
type AuxNegotiator interface {
	// AskAux makes the private data of our request for l.
	AskAux(l *AuxConn, b []byte) []byte
	// TakeAux prepares l, whose request is about to be accepted on l.Conn, and makes the private data of the answer.
	TakeAux(l *AuxConn, b []byte) []byte
	// AuxUp tells that l is up; ours: that we have asked for it. False ends it, for it does not fit.
	AuxUp(l *AuxConn, ours bool) bool
}

// Claim is what a peer says of itself when it asks for a connection.
type Claim struct {
	Port   uint16 // where it listens
	ID     uint32 // names its incarnation
	Index  uint8  // the number of the auxiliary connection that this is to be, 0 for the main one
	Hidden bool   // it cannot be connected to
}

// dataMax is the longest private data that we send, bytes.
const dataMax = 64
