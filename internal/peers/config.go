package peers

import (
	"time"

	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// Protocol is the part of an RDM endpoint that differs by provider.
type Protocol struct {
	Below      stream.Domain  // makes connections
	Conn       *engine.Config // configuration of connections
	Negotiator Negotiator
	Patience   time.Duration // how long to repeat a request that a peer refuses
	// MaxConns is the number of connections above which the longest idle one is closed. 0: no limit.
	MaxConns int
	// IdleTime is the time after which an idle connection is closed. 0: never.
	IdleTime time.Duration
	// Aux is the largest number of auxiliary connections of a peer, for operations that may overtake. If it is 0,
	// AuxNegotiator is not used.
	Aux           int
	AuxNegotiator AuxNegotiator
}

// Negotiator writes and reads the private data that the ends of a connection exchange when they connect (fi_cm(3)).
// Its methods are called locked. data is borrowed for the call. b is memory to append to.
type Negotiator interface {
	// Ask returns the private data of our request to p.
	Ask(p *Peer, b []byte) []byte
	// Asked parses the private data of a peer's request on c. On an error the request is refused.
	Asked(c *engine.Conn, data []byte) (Claim, error)
	// Take prepares p for a request that will be accepted on c. It returns the private data of the answer. c has
	// the configuration Protocol.Conn.
	Take(p *Peer, c *engine.Conn, data, b []byte) []byte
	// Up is called when c of p is up, at either end. data is the peer's answer at the end that sent the request,
	// and nil at the other. Up may replace Conn and Stream of p.
	Up(p *Peer, c *engine.Conn, data []byte)
	// Refuse returns the private data for a refusal of the request with data. crossed means that another connection
	// to this peer exists or is being opened.
	Refuse(data []byte, crossed bool, b []byte) []byte
	// Refused reports whether a refusal with data may mean that another connection is being opened. It is then
	// worth waiting or repeating the request.
	Refused(data []byte) bool
}

// AuxNegotiator is the Negotiator for auxiliary connections.
type AuxNegotiator interface {
	// AskAux returns the private data of our request for l.
	AskAux(l *AuxConn, b []byte) []byte
	// TakeAux prepares l for a request that will be accepted on l.Conn. It returns the private data of the answer.
	TakeAux(l *AuxConn, b []byte) []byte
	// AuxUp is called when l is up. ours means that this end sent the request. If it returns false, l does not fit
	// and is ended.
	AuxUp(l *AuxConn, ours bool) bool
}

// Claim is a peer's description of itself in a request.
type Claim struct {
	Port   uint16 // its listening port
	ID     uint32 // number of its incarnation
	Index  uint8  // number of the auxiliary connection that it requests; 0: the main one
	Hidden bool   // it accepts no connections (FI_TCP_FIREWALL_ADDR)
}

// dataMax is the longest private data of ours, bytes.
const dataMax = 64
