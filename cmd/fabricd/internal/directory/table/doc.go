// Package table is the directory's state: entries in order, leases, what each user has. It has no lock, no clock and no disk; time is an argument.
package table
