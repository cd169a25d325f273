// Package report is a process' side of the node's fabricd: the goroutine that answers when the daemon asks for
// figures, and the frames that both exchange.
package report
