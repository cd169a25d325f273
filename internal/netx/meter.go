package netx

import "sync"

// Meter adds up what TCP_INFO reports of TCP connections, including closed ones. Its lock is held for one system
// call at a time. No caller on the data path waits for it.
type Meter struct {
	mu   sync.Mutex
	open []*Metered
	next int // index at which the next Ask begins
	sum  TCPCounts
}

// Metered is a connection in a Meter.
type Metered struct {
	m    *Meter
	fd   FD
	at   int // index in m.open
	path TCPPath
	same int // consecutive queries that found data in flight and no acknowledgement since the query before
}

// Add adds a connection. The caller keeps the descriptor, and calls End before it closes it.
func (m *Meter) Add(fd FD) *Metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Metered{m: m, fd: fd, at: len(m.open)}
	m.open = append(m.open, r)
	return r
}

// End removes the connection after a last query. It must be called before the descriptor is closed.
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

// ask queries the kernel. Locked.
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

// Path returns the result of the last query.
func (r *Metered) Path() TCPPath {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.path
}

// Stuck returns the result of the last query. yes reports that two queries in a row found data in flight of which
// nothing was acknowledged in between.
func (r *Metered) Stuck() (p TCPPath, yes bool) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.path, r.same > 0
}

// Ask queries at most limit connections. The next call continues with the others.
func (m *Meter) Ask(limit int) {
	for i := 0; i < limit && m.askNext(i); i++ {
	}
}

// askNext queries one more connection. It returns false if before is already the number of connections.
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

// Sum returns the sum over all connections: counters also of closed ones, window and data in flight of open ones,
// and the longest round-trip time of open ones.
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
