// Package table is the directory's state: entries in order, leases, and the usage of each user. It has no lock, no
// clock and no disk; time is an argument.
package table
