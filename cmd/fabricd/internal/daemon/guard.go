package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/internal/fabricd/api"
)

// guard bounds the number of connections, of all users and of each, so that one user cannot occupy them all. Root
// and the daemon's own user have no bound of their own.
type guard struct {
	uid     int // user id of the daemon
	refused prometheus.Counter

	mu            sync.Mutex
	total, ofUser int // the bounds
	open          int
	users         map[int]int
}

func newGuard(c *Config, uid int, metrics *prometheus.Registry) *guard {
	g := &guard{uid: uid, users: map[int]int{}, refused: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fabricd_connections_refused_total", Help: "Connections that were refused because there were too many.",
	})}
	g.set(c)
	metrics.MustRegister(g.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fabricd_connections", Help: "Open connections to the API."}, func() float64 {
		g.mu.Lock()
		defer g.mu.Unlock()
		return float64(g.open)
	}))
	return g
}

// set changes the bounds.
func (g *guard) set(c *Config) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total, g.ofUser = c.Connections, c.ConnectionsPerUser
}

// admit counts a connection, or returns the reason for a refusal.
func (g *guard) admit(c Caller) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.open >= g.total, !c.Root(g.uid) && g.open >= g.total-g.total/8: // the last ones are reserved for root and the daemon's own user
		return fmt.Errorf("%d connections are open, and no more are allowed", g.open)
	case !c.Root(g.uid) && g.users[c.UID] >= g.ofUser: // all clients of a TCP port count as one user, -1 or -2
		return fmt.Errorf("uid %d has %d connections, and no more are allowed", c.UID, g.users[c.UID])
	}
	g.open++
	g.users[c.UID]++
	return nil
}

func (g *guard) release(c Caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	if g.users[c.UID]--; g.users[c.UID] == 0 {
		delete(g.users, c.UID)
	}
}

// guarded is a listener that counts its connections and identifies their peers.
type guarded struct {
	net.Listener
	guard *guard
	tcp   Caller // the user that clients count as if the kernel cannot identify them
}

// Accept implements net.Listener.
func (l *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, ok := credentials(conn)
		if !ok {
			c = l.tcp
		}
		if err := l.guard.admit(c); err != nil {
			l.guard.refused.Inc()
			reject(conn, ok, err)
			continue
		}
		return &counted{Conn: conn, caller: c, guard: l.guard}, nil
	}
}

// reject sends the reason and closes the connection. Over TCP it only closes it, because TLS has not started.
func reject(conn net.Conn, plain bool, why error) {
	defer conn.Close()
	if !plain {
		return
	}
	body, _ := json.Marshal(api.Error{Status: http.StatusServiceUnavailable, Message: why.Error(), Hint: "close some, or raise connections and connections-per-user of fabricd"})
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // the buffer of a new socket has room for this
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// counted is a connection that the guard counts.
type counted struct {
	net.Conn
	caller Caller
	guard  *guard
	once   sync.Once
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.once.Do(func() { c.guard.release(c.caller) })
	return c.Conn.Close()
}
