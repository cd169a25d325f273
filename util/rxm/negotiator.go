package rxm

import (
	"errors"

	"gofabric/internal/peers"
	"gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/wire"
)

// negotiator makes and reads the private data of rxm's connection requests (native's rxm_cm_data): wire.Connect,
// Accept and Reject. Two gofabric endpoints recognize each other by the connection's own handshake (features of
// xnet).
type negotiator rdmEndpoint

var (
	errEager = errors.New("the peer has another eager limit: set the same FI_OFI_RXM_BUFFER_SIZE at both ends")
	errIndex = errors.New("the peer opens more connections than this endpoint has: set the same FI_OFI_RXM_NUM_MSG_EPS at both ends")
)

// Ask implements peers.Negotiator.
func (m *negotiator) Ask(_ *peers.Peer, b []byte) []byte {
	return m.ask(0, b)
}

func (m *negotiator) ask(index uint8, b []byte) []byte {
	c := wire.Connect{Port: m.Local().Port(), FlowCtrl: wire.FlowCtrlOff, Index: index, EagerLimit: uint32(m.d.s.bufferSize), RxSize: uint32(m.d.s.msgRxSize),
		Conn: wire.ConnID(m.ID(), 0)}
	return c.Append(b)
}

func (m *negotiator) answer(b []byte) []byte {
	a := wire.Accept{Conn: wire.ConnID(m.ID(), 0), RxSize: uint32(m.d.s.msgRxSize), FlowCtrl: wire.FlowCtrlOff}
	return a.Append(b)
}

// Asked implements peers.Negotiator.
func (m *negotiator) Asked(c *engine.Conn, data []byte) (peers.Claim, error) {
	var r wire.Connect
	if err := r.Parse(data); err != nil {
		return peers.Claim{}, err
	}
	switch {
	case int(r.Index) >= m.d.s.conns:
		return peers.Claim{}, errIndex
	case !direct(c) && r.EagerLimit != uint32(m.d.s.bufferSize):
		return peers.Claim{}, errEager
	}
	return peers.Claim{Port: r.Port, ID: wire.ConnPID(r.Conn), Index: r.Index}, nil
}

// direct reports whether operations for the peer are posted to c itself.
func direct(c *engine.Conn) bool { return c.Agreed&xwire.FeatureDirect != 0 }

// Take implements peers.Negotiator.
func (m *negotiator) Take(p *peers.Peer, c *engine.Conn, data, b []byte) []byte {
	if c.Rendezvous = direct(c); !c.Rendezvous {
		var r wire.Connect
		r.Parse(data) // Asked has checked it
		newNative((*rdmEndpoint)(m), p, c, r.Conn)
	}
	return m.answer(b)
}

// AskAux, TakeAux and AuxUp implement peers.AuxNegotiator.
func (m *negotiator) AskAux(l *peers.AuxConn, b []byte) []byte { return m.ask(l.Index(), b) }

func (m *negotiator) TakeAux(l *peers.AuxConn, b []byte) []byte {
	if n, ok := l.Peer().User.(*native); ok && !direct(l.Conn) {
		n.addAux(l)
	}
	return m.answer(b)
}

func (m *negotiator) AuxUp(l *peers.AuxConn, ours bool) bool {
	n, ok := l.Peer().User.(*native)
	if ok == direct(l.Conn) {
		return false // another peer than that of the first connection
	}
	if ok && ours {
		n.addAux(l)
	}
	l.Conn.Rendezvous = !ok
	return true
}

// Up implements peers.Negotiator.
func (m *negotiator) Up(p *peers.Peer, c *engine.Conn, data []byte) {
	if n, ok := p.User.(*native); ok { // made by Take
		n.upper.Ready()
		return
	}
	if len(data) == 0 {
		return
	}
	var a wire.Accept
	if err := a.Parse(data); err != nil {
		c.Fail(engine.ErrProtocol)
		return
	}
	p.SetID(wire.ConnPID(a.Conn))
	if c.Rendezvous = direct(c); !c.Rendezvous {
		n := newNative((*rdmEndpoint)(m), p, c, a.Conn)
		n.upper.Ready()
		n.upper.Adopt(c)
	}
}

// Refuse implements peers.Negotiator.
func (m *negotiator) Refuse(_ []byte, crossed bool, b []byte) []byte {
	if crossed {
		return wire.AppendReject(b, wire.ReasonAlready)
	}
	return wire.AppendReject(b, wire.ReasonRefused)
}

// Refused implements peers.Negotiator.
func (m *negotiator) Refused(data []byte) bool { return wire.ParseReject(data) == wire.ReasonAlready }
