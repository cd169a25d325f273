package telemetry

import "time"

// Version is that of the format of Process and of the words on the socket.
const Version = 1

// Process is what a process tells of itself.
type Process struct {
	Version int       `json:"version"`
	ID      string    `json:"id,omitempty"` // fabricd's name for it
	PID     int       `json:"pid"`
	UID     int       `json:"uid"`
	Name    string    `json:"name"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	// Silent is since when it has not answered; zero if it does.
	Silent time.Time `json:"silent,omitzero"`
	// Totals add up everything by provider, endpoints that were closed included.
	Totals []Total `json:"totals"`
	// Endpoints are those that are open: at most MaxEndpoints of them, the first ones; More says how many are left out.
	Endpoints []Endpoint `json:"endpoints"`
	More      int        `json:"more,omitempty"`
	Stalls    []Stall    `json:"stalls"`
	// Stalled counts all stalls that were ever seen, by what stalls.
	Stalled map[string]uint64 `json:"stalled,omitempty"`
}

// Total is the sum over the endpoints of one provider. Metrics says what the names mean.
type Total struct {
	Provider   string               `json:"provider"`
	Counters   Counts               `json:"counters"`
	Histograms map[string]Histogram `json:"histograms,omitempty"`
}

// Counts are figures by name, as the table Metrics has them.
type Counts map[string]uint64

// Endpoint is an open endpoint.
type Endpoint struct {
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Address   string `json:"address"`
	Interface string `json:"interface"`
	Type      string `json:"type"`
	Counters  Counts `json:"counters"`
	// Peers are those with the most traffic, the greatest first, and one with the address Others for the sum of the rest.
	Peers      []Peer               `json:"peers"`
	Histograms map[string]Histogram `json:"histograms"`
}

// Others is the address of the sum of the peers that are not listed.
const Others = "others"

// Peer is a connection.
type Peer struct {
	Address  string    `json:"address"`
	State    string    `json:"state"`
	Since    time.Time `json:"since,omitzero"` // the observation that saw the state first
	Counters Counts    `json:"counters"`
}

// Stall is something that makes no progress.
type Stall struct {
	What      string    `json:"what"` // one of StallKinds
	Provider  string    `json:"provider"`
	Interface string    `json:"interface"`
	Local     string    `json:"local"`
	Peer      string    `json:"peer"`
	State     string    `json:"state"` // what it waits for
	Bytes     uint64    `json:"bytes,omitempty"`
	Since     time.Time `json:"since"` // it waits at least since then
}

// StallKinds are what can stall: operations, connects, receives that nobody posts, queues that nobody reads, a domain's lock, and a process that does not answer.
var StallKinds = []string{"send", "read", "write", "atomic", "collective", "connect", "receive", "queue", "lock", "process", "other"}

// The bounds of what a process tells, so that nobody needs more memory for it than report.MaxFrame.
const (
	MaxEndpoints = 64
	MaxPeers     = 16  // of one endpoint
	MaxAllPeers  = 256 // of all endpoints
	MaxStalls    = 128
	MaxTotals    = 8
	MaxAsks      = 1024 // questions to the system about connections, a quarter of a microsecond each
	MaxText      = 256  // bytes of a name or an address
)

// Clip shortens a text that is for others to read, and takes out what does not print.
func Clip(s string) string {
	if len(s) > MaxText {
		s = s[:MaxText]
	}
	clean := true
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			clean = false
		}
	}
	if clean {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c >= 0x7f {
			b[i] = '?'
		}
	}
	return string(b)
}
