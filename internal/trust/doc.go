// Package trust decides which processes of this host may share memory and local sockets with this process, or copy
// out of its memory. Those of the same user may. It counts and logs the processes that it refuses.
//
// The user is the effective one at both ends. The system reports that one for the other end of a socket (SO_PEERCRED,
// unix(7)), and a program that changes its user acts as that one. For copies out of memory the system has its own
// rules (ptrace(2), "Ptrace access mode checking").
package trust
