// Package disk is a folder of files as a journal needs it: each call states what is durable afterwards. Tests have an implementation whose machine ends, and
// whose calls fail, at any point they choose.
package disk
