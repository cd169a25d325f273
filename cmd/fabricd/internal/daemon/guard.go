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

// guard bounds how many connections there are, of all users and of each, so that one cannot take them from the others. Root and the daemon's own user may have
// as many as there are for all.
type guard struct {
	uid     int // the daemon's
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

// admit counts a connection, or says why not.
func (g *guard) admit(c Caller) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.open >= g.total, !c.Root(g.uid) && g.open >= g.total-g.total/8: // the last ones are for who can do something about it
		return fmt.Errorf("%d connections are open, and no more are allowed", g.open)
	case !c.Root(g.uid) && g.users[c.UID] >= g.ofUser: // all of a TCP port count as one user, -1 or -2
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

// guarded is a listener whose connections are counted, and know who is at the other end.
type guarded struct {
	net.Listener
	guard *guard
	tcp   Caller // whom all count as of whom the kernel does not know
}

// Accept is net.Listener's.
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
			turnAway(conn, ok, err)
			continue
		}
		return &counted{Conn: conn, caller: c, guard: l.guard}, nil
	}
}

// turnAway says why and closes; over TCP it only closes, as TLS is not spoken yet.
func turnAway(conn net.Conn, plain bool, why error) {
	defer conn.Close()
	if !plain {
		return
	}
	body, _ := json.Marshal(api.Error{Status: http.StatusServiceUnavailable, Message: why.Error(), Hint: "close some, or raise connections and connections-per-user of fabricd"})
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a new socket has room for this
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// counted is a connection that the guard knows of.
type counted struct {
	net.Conn
	caller Caller
	guard  *guard
	once   sync.Once
}

// Close is net.Conn's.
func (c *counted) Close() error {
	c.once.Do(func() { c.guard.release(c.caller) })
	return c.Conn.Close()
}
