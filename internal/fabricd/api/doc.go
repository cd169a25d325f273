// Package api is the daemon's HTTP interface as its clients see it: the types of its JSON, and a Client over the Unix socket.
package api
