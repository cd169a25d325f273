package cm

import "gofabric/internal/mono"

// Kind is the kind of an Action.
type Kind uint8

const (
	Dial    Kind = iota // open a transport for Conn and send our request on it
	Accept              // accept the request on Conn
	Refuse              // refuse it; Crossed: because another connection exists or is being opened
	Receive             // receive what has arrived on Conn
	Adopt               // move the waiting operations and messages of Other to Conn
	// Send bye on Conn, or end our stream if the peer does not understand bye; later posts go to Other.
	Leave
	Return // return to Conn, which was left; posts to Other move to it
	Part   // answer the peer's bye on Conn with ours, after all queued data, and close the transport
	Stay   // answer the peer's bye with stay
	Drain  // end our stream on Conn and continue to receive
	Drop   // end Conn and forget it

	// Continuations of the machine itself: Next executes them, and the driver never sees them.
	decide
	revive
)

func (k Kind) String() string {
	return [...]string{"dial", "accept", "refuse", "receive", "adopt", "leave", "return", "part", "stay", "drain", "drop", "decide", "revive"}[k]
}

// Reason is why a connection was dropped. It determines the error of its operations.
type Reason uint8

const (
	Ended    Reason = iota // the peer has closed it, uses another one, or was restarted
	Rejected               // the peer has refused it for Config.Patience
	Canceled               // the application has aborted it
)

// Action is an instruction for the driver.
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

// Next returns the driver's next action. false: there is none until the next event.
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
			if a.Conn.state != Closed { // it may have failed in the meantime
				return a, true
			}
		default:
			return a, true
		}
	}
	m.queue, m.head = m.queue[:0], 0
	return Action{}, false
}
