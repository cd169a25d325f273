package cm

import "gofabric/internal/mono"

// nextTimer returns the earliest deadline of a connection, None if there is none.
func (m *Machine) nextTimer() mono.Time {
	if m.timers.Len() == 0 {
		return mono.None
	}
	return m.timers.MinKey()
}

// setDeadline sets the deadline of c, which Tick handles. None clears it.
func (m *Machine) setDeadline(c *Conn, at mono.Time) {
	if at == mono.None {
		m.timers.Remove(c.timer)
	} else {
		m.timers.Set(at, c, &c.timer)
	}
}
