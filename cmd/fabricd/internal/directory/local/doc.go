// Package local is the directory of a single node: a table in memory, and a journal on disk from which it is restored.
package local
