// Package pull copies memory from another process of this host in one step, process_vm_readv(2), where a socket would copy it twice and hand every
// cache line from core to core both times. It also tells who this process is, so that two ends of a connection can find out that they are on one host.
//
// The system allows it to whoever may attach a debugger to the other process: the same user as a rule, unless hardening (Yama's ptrace_scope, seccomp)
// forbids it. Nobody has to know beforehand: the first attempt tells.
package pull
