// Package directory is the part of the daemon that keeps names, and the values and fences of jobs. It has the API
// routes, on top of a store.Store.
package directory
