// Package api is the daemon's HTTP interface for its clients: the types of its JSON, and a Client over the Unix
// socket.
package api
