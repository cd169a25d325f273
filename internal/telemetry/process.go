package telemetry

import "time"

// Version is the version of the format of Process and of the messages on the socket.
const Version = 1

// Process is the report of a process.
type Process struct {
	Version int       `json:"version"`
	ID      string    `json:"id,omitempty"` // fabricd's id of the process
	PID     int       `json:"pid"`
	UID     int       `json:"uid"`
	Name    string    `json:"name"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	// Silent is the time since which the process has not answered; zero if it answers.
	Silent time.Time `json:"silent,omitzero"`
	// Totals has the sums by provider, closed endpoints included.
	Totals []Total `json:"totals"`
	// Endpoints has the first MaxEndpoints open endpoints. More is the number of the others.
	Endpoints []Endpoint `json:"endpoints"`
	More      int        `json:"more,omitempty"`
	Stalls    []Stall    `json:"stalls"`
	// Stalled counts all stalls since the start, by kind.
	Stalled map[string]uint64 `json:"stalled,omitempty"`
}

// Total is the sum over the endpoints of one provider. Metrics describes the names.
type Total struct {
	Provider   string               `json:"provider"`
	Counters   Counts               `json:"counters"`
	Histograms map[string]Histogram `json:"histograms,omitempty"`
}

// Counts has figures by name, as in the table Metrics.
type Counts map[string]uint64

// Endpoint is an open endpoint.
type Endpoint struct {
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Address   string `json:"address"`
	Interface string `json:"interface"`
	Type      string `json:"type"`
	Counters  Counts `json:"counters"`
	// Peers has the peers with the most traffic, the largest first, and one with the address Others for the sum of
	// the rest.
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

// Stall is an operation or object that makes no progress.
type Stall struct {
	What      string    `json:"what"` // one of StallKinds
	Provider  string    `json:"provider"`
	Interface string    `json:"interface"`
	Local     string    `json:"local"`
	Peer      string    `json:"peer"`
	State     string    `json:"state"` // the event it waits for
	Bytes     uint64    `json:"bytes,omitempty"`
	Since     time.Time `json:"since"` // it waits at least since then
}

// StallKinds are the kinds of stalls: operations, connects, unexpected messages without a receive, queues that are
// not read, a domain's lock, and a process that does not answer.
var StallKinds = []string{"send", "read", "write", "atomic", "collective", "connect", "receive", "queue", "lock", "process", "other"}

// The bounds of a report, so that it fits in report.MaxFrame.
const (
	MaxEndpoints = 64
	MaxPeers     = 16  // of one endpoint
	MaxAllPeers  = 256 // of all endpoints
	MaxStalls    = 128
	MaxTotals    = 8
	MaxAsks      = 1024 // system calls for connections, a quarter of a microsecond each
	MaxText      = 256  // bytes of a name or an address
)

// Clip shortens a text and removes characters that do not print.
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
