// Package directory is the part of the daemon that keeps names, a job's values and its fences: the routes, over a store.Store.
package directory
