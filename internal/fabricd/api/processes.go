package api

import (
	"time"

	"gofabric/internal/telemetry"
)

// Processes is the answer of GET /v1/processes: the processes with open domains. Users who may not see the details of
// a process get its id and its totals.
type Processes struct {
	Processes []*telemetry.Process `json:"processes"`
}

// Stuck is the answer of GET /v1/stuck: operations and objects without progress, and their peers.
type Stuck struct {
	Stuck []StuckEntry `json:"stuck"`
}

// StuckEntry is an operation or object that makes no progress.
type StuckEntry struct {
	PID       int    `json:"pid"`
	Name      string `json:"name"`
	What      string `json:"what"`
	Provider  string `json:"provider"`
	Interface string `json:"interface"`
	Local     string `json:"local"`
	Peer      string `json:"peer"`
	// PeerPID is the process of this node that has the peer's address, if there is one.
	PeerPID  int       `json:"peer_pid,omitempty"`
	PeerName string    `json:"peer_name,omitempty"`
	State    string    `json:"state"`
	Bytes    uint64    `json:"bytes,omitempty"`
	Since    time.Time `json:"since"`
}
