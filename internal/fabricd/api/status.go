package api

import "time"

// Status is the answer of GET /v1/status.
type Status struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Parts   []string  `json:"parts"` // what the daemon is made of: directory, processes, emulation, ...
}

// Page is the answer of GET /v1/page.
type Page struct {
	Links []string `json:"links"` // for browsers of this node, of others; none if the page is served to neither
}
