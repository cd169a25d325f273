// Package local is the directory of a node by itself: a table in memory, and a journal on disk that it comes back from.
package local
