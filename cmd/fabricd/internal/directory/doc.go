// Package directory is the part of the daemon that keeps names, a job's values and its fences: the API routes, over a store.Store.
package directory
