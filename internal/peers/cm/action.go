package cm

import "gofabric/internal/mono"

// Kind is what an Action asks for.
type Kind uint8

const (
	Dial    Kind = iota // open a transport for Conn, and send our request on it
	Accept              // accept the request on Conn
	Refuse              // refuse it, with Crossed because there is or will be another connection
	Receive             // take what has come on Conn
	Adopt               // operations and messages that wait on Other move to Conn
	Leave               // say bye on Conn, or end our stream if the peer does not understand; what is posted from now on goes to Other
	Return              // go on with Conn, which was left; what was posted to Other moves to it
	Part                // answer the peer's bye on Conn with ours, behind all that is queued, and close the transport
	Stay                // answer it with stay
	Drain               // end our stream on Conn, and go on receiving
	Drop                // end Conn, and forget it

	// Continuations of the machine's own.
	decide
	revive
)

func (k Kind) String() string {
	return [...]string{"dial", "accept", "refuse", "receive", "adopt", "leave", "return", "part", "stay", "drain", "drop", "decide", "revive"}[k]
}

// Reason is what operations of a dropped connection fail with.
type Reason uint8

const (
	Ended    Reason = iota // the peer has closed it, has another one, or was restarted
	Rejected               // the peer went on refusing
	Canceled               // the application broke it off
)

// Action is what the driver is to do.
type Action struct {
	Kind    Kind
	Conn    *Conn
	Other   *Conn
	Crossed bool
	Why     Reason

	now mono.Time
	req *Request
}

func (m *Machine) do(a Action) { m.queue = append(m.queue, a) }

// Next is what the driver is to do next; false: nothing, until the next event.
func (m *Machine) Next() (Action, bool) {
	for m.head < len(m.queue) {
		a := m.queue[m.head]
		m.queue[m.head] = Action{}
		m.head++
		switch a.Kind {
		case decide:
			m.decide(a.Conn, a.req, a.now)
		case revive:
			m.revive(a.Conn, a.now)
		case Dial, Accept, Receive, Stay, Drain:
			if a.Conn.state != Closed { // else it has failed meanwhile
				return a, true
			}
		default:
			return a, true
		}
	}
	m.queue, m.head = m.queue[:0], 0
	return Action{}, false
}
