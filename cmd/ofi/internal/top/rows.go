package top

import (
	"cmp"
	"slices"
	"time"

	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
)

// Row is a line of the table: an endpoint, or a peer of the endpoint above.
type Row struct {
	PID      int     `json:"pid"`
	Name     string  `json:"name"`
	Provider string  `json:"provider"`
	Address  string  `json:"address"`
	Peer     string  `json:"peer,omitempty"` // "" in an endpoint's row
	State    string  `json:"state,omitempty"`
	Out      float64 `json:"out"`       // operations per second; for a peer messages per second
	In       float64 `json:"in"`        //
	BytesOut float64 `json:"bytes_out"` // per second
	BytesIn  float64 `json:"bytes_in"`  //
	Pending  uint64  `json:"pending"`
	Posted   uint64  `json:"posted"`
	Unexp    uint64  `json:"unexpected_bytes"`
	Again    float64 `json:"again"`         // per second
	Resent   float64 `json:"retransmitted"` // per second
	RTT      float64 `json:"rtt"`           // seconds
	Stalls   int     `json:"stalls"`
}

// Look has the figures of one time.
type Look struct {
	At        time.Time
	Processes api.Processes
}

// The names of figures for outgoing and for incoming operations.
var (
	outgoing = []string{"send", "write", "atomic", "collective", "remote_read"}
	incoming = []string{"receive", "read", "fetch_atomic", "compare_atomic", "remote_write"}
)

// key identifies an endpoint, or a peer of it.
type key struct {
	pid      int
	since    time.Time
	endpoint string
	peer     string
}

// Rows returns the endpoints, the busiest first. With peers, each is followed by its peers. Rates are averages
// since before.
func Rows(before, now *Look, peers bool) []Row {
	old := map[key]telemetry.Counts{}
	each(&before.Processes, func(k key, _ *telemetry.Process, _ *telemetry.Endpoint, c telemetry.Counts, _ *telemetry.Peer) {
		old[k] = c
	})
	seconds := now.At.Sub(before.At).Seconds()
	var list [][]Row
	each(&now.Processes, func(k key, p *telemetry.Process, e *telemetry.Endpoint, c telemetry.Counts, q *telemetry.Peer) {
		r := row(p, e, c, rates{old[k], c, seconds}, q)
		switch {
		case q == nil:
			list = append(list, []Row{r})
		case peers:
			list[len(list)-1] = append(list[len(list)-1], r)
		}
	})
	slices.SortStableFunc(list, func(a, b []Row) int {
		return cmp.Or(cmp.Compare(b[0].Stalls, a[0].Stalls), cmp.Compare(b[0].Out+b[0].In, a[0].Out+a[0].In))
	})
	return slices.Concat(list...)
}

// each calls f for all endpoints, and after each for its peers.
func each(a *api.Processes, f func(k key, p *telemetry.Process, e *telemetry.Endpoint, c telemetry.Counts, q *telemetry.Peer)) {
	for _, p := range a.Processes {
		for i := range p.Endpoints {
			e := &p.Endpoints[i]
			f(key{p.PID, p.Since, e.ID, ""}, p, e, e.Counters, nil)
			for j := range e.Peers {
				q := &e.Peers[j]
				f(key{p.PID, p.Since, e.ID, q.Address}, p, e, q.Counters, q)
			}
		}
	}
}

// rates computes rates from figures.
type rates struct {
	old, now telemetry.Counts
	seconds  float64
}

// of returns the increase of figures per second, 0 if before does not have them.
func (r rates) of(names ...string) float64 {
	if r.old == nil || r.seconds <= 0 {
		return 0
	}
	sum := 0.0
	for _, n := range names {
		if r.now[n] > r.old[n] {
			sum += float64(r.now[n] - r.old[n])
		}
	}
	return sum / r.seconds
}

func row(p *telemetry.Process, e *telemetry.Endpoint, c telemetry.Counts, r rates, q *telemetry.Peer) Row {
	t := Row{
		PID: p.PID, Name: p.Name, Provider: e.Provider, Address: e.Address, Pending: c["pending_operations"], Posted: c["posted_receives"], Unexp: c["unexpected_bytes"],
		Resent: r.of("retransmitted"), RTT: float64(c["rtt"]) / 1e9,
	}
	if q != nil {
		t.Peer, t.State = q.Address, q.State
		t.Out, t.In, t.BytesOut, t.BytesIn = r.of("messages.out"), r.of("messages.in"), r.of("stream_bytes.out"), r.of("stream_bytes.in")
		t.Stalls = stalls(p, func(s *telemetry.Stall) bool { return s.Local == e.Address && s.Peer == q.Address })
		return t
	}
	t.Out, t.In = r.of(with("operations.", outgoing)...), r.of(with("operations.", incoming)...)
	t.BytesOut, t.BytesIn = r.of(with("bytes.", outgoing)...), r.of(with("bytes.", incoming)...)
	t.Again = r.of("again.transmit", "again.receive")
	t.Stalls = stalls(p, func(s *telemetry.Stall) bool { return s.Local == e.Address || s.Local == "" })
	return t
}

func with(prefix string, words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = prefix + w
	}
	return list
}

func stalls(p *telemetry.Process, is func(*telemetry.Stall) bool) (n int) {
	for i := range p.Stalls {
		if is(&p.Stalls[i]) {
			n++
		}
	}
	return n
}
