package api

import "time"

// Status is the answer of GET /v1/status.
type Status struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Parts   []string  `json:"parts"` // the daemon's parts: directory, processes, emulation, ...

	Troubles []Trouble `json:"troubles,omitempty"`
}

// Trouble describes a problem of a part that runs.
type Trouble struct {
	Part string `json:"part"`
	What string `json:"what"`
}

// Page is the answer of GET, PUT and DELETE /v1/page: the address of the page. PUT opens its port for browsers of
// this node, and DELETE closes it.
type Page struct {
	Link        string `json:"link,omitempty"`   // for browsers of this node; "" if the port is closed
	Remote      string `json:"remote,omitempty"` // for browsers of other hosts (--listen)
	Certificate string `json:"certificate"`      // self-signed by the daemon, PEM
	SHA256      string `json:"sha256"`           // its fingerprint, as browsers and openssl print it
}
