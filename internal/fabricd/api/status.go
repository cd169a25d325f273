package api

import "time"

// Status is the answer of GET /v1/status.
type Status struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Parts   []string  `json:"parts"` // what the daemon is made of: directory, processes, emulation, ...

	Troubles []Trouble `json:"troubles,omitempty"`
}

// Trouble is what is wrong with a part that runs.
type Trouble struct {
	Part string `json:"part"`
	What string `json:"what"`
}

// Page is the answer of GET, PUT and DELETE /v1/page: where the page is. PUT opens its port for browsers of this node, DELETE closes it.
type Page struct {
	Link        string `json:"link,omitempty"`   // for browsers of this node; "" if the port is closed
	Remote      string `json:"remote,omitempty"` // for those of others (--listen)
	Certificate string `json:"certificate"`      // of the daemon's own making, PEM
	SHA256      string `json:"sha256"`           // its fingerprint, as browsers and openssl show it
}
