// Package daemon runs the parts of fabricd. It opens the sockets, identifies callers, and starts and stops the
// parts that do the work. It imports no part; main combines them.
package daemon
