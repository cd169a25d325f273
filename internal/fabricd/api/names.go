package api

import (
	"net/url"
	"strings"
	"time"
)

// NamePath returns the path of a name in the directory. Slashes separate the elements of names.
func NamePath(name string) string { return "/v1/names/" + escape(name) }

// KeyPath returns the path of a job's value.
func KeyPath(key string) string { return "/v1/kv/" + escape(key) }

// FencePath returns the path of a fence.
func FencePath(name string) string { return "/v1/fence/" + escape(name) }

// LeasePath returns the path of a lease.
func LeasePath(id string) string { return "/v1/leases/" + url.PathEscape(id) }

func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// Registration is the body of PUT /v1/names/{name...}. Without a lease the name remains until it is deleted.
type Registration struct {
	Address string `json:"address"`
	Lease   string `json:"lease,omitempty"` // duration after which a name without renewal ends: "30s"
	// LeaseID is an existing lease of this user, instead of Lease. Its names end together.
	LeaseID string `json:"lease_id,omitempty"`
	Private bool   `json:"private,omitempty"` // hidden from other users
}

// Registered is the answer to a Registration, and to PUT /v1/kv/{key...}.
type Registered struct {
	Lease    string    `json:"lease,omitempty"` // id
	Expires  time.Time `json:"expires,omitzero"`
	Revision uint64    `json:"revision"`
}

// Name is a registered name.
type Name struct {
	Name     string    `json:"name"`
	Address  string    `json:"address"`
	Owner    int       `json:"owner_uid"`
	Private  bool      `json:"private,omitempty"`
	Lease    string    `json:"lease,omitempty"`  // duration without renewal
	Expires  time.Time `json:"expires,omitzero"` // end of the lease, if the store knows it (a cluster does not)
	Revision uint64    `json:"revision"`         // revision of the directory when the name was put
}

// Names is the answer to GET /v1/names?prefix=&after=&limit=, in order of the bytes of names.
type Names struct {
	Names    []Name `json:"names"`
	Revision uint64 `json:"revision"` // of the directory; GET /v1/watch?from= continues here
	More     bool   `json:"more"`     // repeat the query with after= the last name
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

// Event is a line of GET /v1/watch?prefix=&from=, which reports the changes after revision from.
type Event struct {
	Revision uint64 `json:"revision"` // resume with from= this value
	// Type is "put", "delete" or "expire"; "alive" at the beginning and from time to time; "error" at the end.
	Type    string `json:"type"`
	Name    string `json:"name,omitempty"`
	Address string `json:"address,omitempty"`
	Owner   int    `json:"owner_uid,omitempty"`
	Error   *Error `json:"error,omitempty"`
}

// Value is the body of PUT /v1/kv/{key...}, and the answer of GET. GET with ?wait=10s waits until the value exists. A
// value remains for the duration of lease, which is a day by default.
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

// Arrival is the body of POST /v1/fence/{name...}: a rank has come to the fence. User, name and size identify a
// fence. It is used again and again, and its generations count from 0. An arrival that is sent twice counts once.
// With Generation that is also true if the first one was the last to come and only its answer was lost. Without
// Generation the arrival is for the open generation.
type Arrival struct {
	Rank       int    `json:"rank"`
	Size       int    `json:"size"`
	Generation *int   `json:"generation,omitempty"`
	Wait       string `json:"wait,omitempty"` // longest time to wait for the others: "10s"; then ask again
}

// Arrived is the answer to an Arrival.
type Arrived struct {
	Generation int   `json:"generation"`
	Done       bool  `json:"done"` // all ranks have come
	Count      int   `json:"count"`
	Missing    []int `json:"missing,omitempty"` // some of the ranks that have not come
}
