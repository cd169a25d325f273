package netx

import "sync"

// Meter adds up what the system tells of TCP connections, of those that were closed, too. Its lock is held for one question to the system at a time, and nobody
// who moves bytes waits for it.
type Meter struct {
	mu   sync.Mutex
	open []*Metered
	next int // where the next Ask begins
	sum  TCPCounts
}

// Metered is a connection in a Meter.
type Metered struct {
	m    *Meter
	fd   FD
	at   int // in m.open
	path TCPPath
	same int // looks in a row that found something on its way, and nothing acknowledged since the one before
}

// Add puts a connection in.
func (m *Meter) Add(fd FD) *Metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Metered{m: m, fd: fd, at: len(m.open)}
	m.open = append(m.open, r)
	return r
}

// End takes the connection out, after a last look. It is to be called before the descriptor is closed.
func (r *Metered) End() {
	m := r.m
	m.mu.Lock()
	defer m.mu.Unlock()
	r.ask()
	last := len(m.open) - 1
	m.open[r.at] = m.open[last]
	m.open[r.at].at = r.at
	m.open[last] = nil
	m.open = m.open[:last]
}

// ask asks the system. Locked.
func (r *Metered) ask() {
	p, ok := PathOf(r.fd)
	if !ok {
		return
	}
	r.m.sum.grow(&r.path.TCPCounts, &p.TCPCounts)
	if r.same++; p.InFlight+p.Unsent == 0 || p.Acked != r.path.Acked || r.path.InFlight+r.path.Unsent == 0 {
		r.same = 0
	}
	r.path = p
}

// Path is what the system said last.
func (r *Metered) Path() TCPPath {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.path
}

// Stuck returns what the system said last, if two looks have found that nothing was acknowledged of what is on its way.
func (r *Metered) Stuck() (p TCPPath, yes bool) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.path, r.same > 0
}

// Ask asks the system about so many connections at most; the next call goes on with the others.
func (m *Meter) Ask(limit int) {
	for i := 0; i < limit && m.askNext(i); i++ {
	}
}

// askNext asks about one connection more; false if there were as many before as there are.
func (m *Meter) askNext(before int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before >= len(m.open) {
		return false
	}
	m.next %= len(m.open)
	m.open[m.next].ask()
	m.next++
	return true
}

// Sum is what is known of all connections together: of what is of now, of those that are open, and the longest round-trip time.
func (m *Meter) Sum() TCPPath {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := TCPPath{TCPCounts: m.sum}
	for _, r := range m.open {
		s.RTT = max(s.RTT, r.path.RTT)
		s.Window += r.path.Window
		s.InFlight += r.path.InFlight
	}
	return s
}
