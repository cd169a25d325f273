package api

import (
	"time"

	"gofabric/internal/telemetry"
)

// Processes is the answer of GET /v1/processes: the processes that have domains open. Who may not see the details of one gets its id, and its totals.
type Processes struct {
	Processes []*telemetry.Process `json:"processes"`
}

// Stuck is the answer of GET /v1/stuck: who waits for whom.
type Stuck struct {
	Stuck []StuckEntry `json:"stuck"`
}

// StuckEntry is something that makes no progress.
type StuckEntry struct {
	PID       int       `json:"pid"`
	Name      string    `json:"name"`
	What      string    `json:"what"`
	Provider  string    `json:"provider"`
	Interface string    `json:"interface"`
	Local     string    `json:"local"`
	Peer      string    `json:"peer"`
	PeerPID   int       `json:"peer_pid,omitempty"` // the process that has the peer's address, where one of this node has it
	PeerName  string    `json:"peer_name,omitempty"`
	State     string    `json:"state"`
	Bytes     uint64    `json:"bytes,omitempty"`
	Since     time.Time `json:"since"`
}
