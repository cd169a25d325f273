package api

import (
	"net/url"
	"strings"
	"time"
)

// NamePath is the path of a name in the directory. Elements of names are separated by slashes.
func NamePath(name string) string { return "/v1/names/" + escape(name) }

// KeyPath is the path of a job's value.
func KeyPath(key string) string { return "/v1/kv/" + escape(key) }

// FencePath is the path of a fence.
func FencePath(name string) string { return "/v1/fence/" + escape(name) }

// LeasePath is the path of a lease.
func LeasePath(id string) string { return "/v1/leases/" + url.PathEscape(id) }

func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// Registration is the body of PUT /v1/names/{name...}. Without lease the name stays until it is deleted.
type Registration struct {
	Address string `json:"address"`
	Lease   string `json:"lease,omitempty"`    // how long the name lives when it is not renewed: "30s"
	LeaseID string `json:"lease_id,omitempty"` // or: a lease of this user that lives already; its names live and end together
	Private bool   `json:"private,omitempty"`  // other users do not see it
}

// Registered is the answer to a Registration, and to PUT /v1/kv/{key...}.
type Registered struct {
	Lease    string    `json:"lease,omitempty"` // its id
	Expires  time.Time `json:"expires,omitzero"`
	Revision uint64    `json:"revision"`
}

// Name is a registered name.
type Name struct {
	Name     string    `json:"name"`
	Address  string    `json:"address"`
	Owner    int       `json:"owner_uid"`
	Private  bool      `json:"private,omitempty"`
	Lease    string    `json:"lease,omitempty"`  // how long it lives without being renewed
	Expires  time.Time `json:"expires,omitzero"` // and until when, if the store knows: a cluster does not
	Revision uint64    `json:"revision"`         // of the directory, when the name was put
}

// Names is the answer to GET /v1/names?prefix=&after=&limit=, in order of the bytes of names.
type Names struct {
	Names    []Name `json:"names"`
	Revision uint64 `json:"revision"` // of the directory: GET /v1/watch?from= goes on from here
	More     bool   `json:"more"`     // ask again with after= the last name
}

// Renewed is the answer to POST /v1/leases/{id}.
type Renewed struct {
	Lease   string    `json:"lease"`
	Expires time.Time `json:"expires"`
}

// Deleted is the answer to DELETE.
type Deleted struct {
	Revision uint64 `json:"revision"`
	Count    int    `json:"count"`
}

// Event is a line of GET /v1/watch?prefix=&from=, which tells what happened after revision from.
type Event struct {
	Revision uint64 `json:"revision"` // resume with from= this
	Type     string `json:"type"`     // "put", "delete", "expire"; "alive" at the beginning and now and then; "error" at the end
	Name     string `json:"name,omitempty"`
	Address  string `json:"address,omitempty"`
	Owner    int    `json:"owner_uid,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// Value is the body of PUT /v1/kv/{key...}, and the answer of GET. GET with ?wait=10s waits until there is one. A value lives for lease, which is a day if
// nothing is said.
type Value struct {
	Key      string    `json:"key,omitempty"`
	Value    []byte    `json:"value"`
	Lease    string    `json:"lease,omitempty"`
	LeaseID  string    `json:"lease_id,omitempty"`
	Private  bool      `json:"private,omitempty"`
	Owner    int       `json:"owner_uid,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Revision uint64    `json:"revision,omitempty"`
}

// Values is the answer to GET /v1/kv?prefix=&after=&limit=.
type Values struct {
	Values   []Value `json:"values"`
	Revision uint64  `json:"revision"`
	More     bool    `json:"more"`
}

// Arrival is the body of POST /v1/fence/{name...}: rank has come. A fence is known by user, name and size, and is used again and again: its generations
// count from 0. Sent twice, an arrival counts once; with Generation that holds also if the first one was the last to come and only its answer was lost.
// Without Generation the arrival is for the one that is open.
type Arrival struct {
	Rank       int    `json:"rank"`
	Size       int    `json:"size"`
	Generation *int   `json:"generation,omitempty"`
	Wait       string `json:"wait,omitempty"` // at most, for the others: "10s"; then ask again
}

// Arrived is the answer to an Arrival.
type Arrived struct {
	Generation int   `json:"generation"`
	Done       bool  `json:"done"` // all have come
	Count      int   `json:"count"`
	Missing    []int `json:"missing,omitempty"` // some of the ranks that have not
}
