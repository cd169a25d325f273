// Package trust says which processes of this host may use the ways that only such processes have: shared memory, local sockets, and copies out of memory. Those of the same user may. Who
// is refused is counted and logged.
//
// The user is the effective one, on both sides: it is what the system says of the other end of a socket (SO_PEERCRED, unix(7)), and what a program that changes its user acts as. What may be
// read of a process' memory the system decides besides, by its own rules (ptrace(2), "Ptrace access mode checking").
package trust
