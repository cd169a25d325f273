// Package cma copies memory from another process of this host in one step with process_vm_readv(2) (cross-memory
// attach, CMA, as in fi_shm(7)). A socket would copy the bytes twice, and would move every cache line between cores
// both times. The package also identifies this process, so that the two ends of a connection can find out that they
// are on one host.
//
// The system allows a process to copy if it may attach a debugger to the other one. As a rule this is a process of
// the same user, unless hardening (Yama's ptrace_scope, seccomp) forbids it. Callers need not know in advance: the
// first attempt shows it.
package cma
