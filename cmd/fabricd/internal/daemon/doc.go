// Package daemon is what runs: sockets, who is calling, the life of the parts that do the work. It knows no part; main puts them together.
package daemon
