// Package daemon runs the parts of fabricd: it has the sockets, identifies callers, and starts and stops the parts that do the work. It imports no part;
// main puts them together.
package daemon
