// Package local is the directory of a single node: a table in memory, and a bbolt file from which it is restored.
package local
