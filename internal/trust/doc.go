// Package trust decides which processes of this host this process shares with: memory, local sockets, and copies out of memory. Those of the same user may. It
// counts and logs the processes that it refuses.
//
// The user is the effective one, at both ends: that is the one that the system reports of the other end of a socket (SO_PEERCRED, unix(7)), and the one that a
// program that changes its user acts as. The system has rules of its own for copies out of memory (ptrace(2), "Ptrace access mode checking").
package trust
