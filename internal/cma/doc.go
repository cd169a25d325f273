// Package cma copies memory from another process of this host in one step with process_vm_readv(2) (cross-memory attach, CMA). A socket would copy the bytes
// twice and move every cache line between cores both times. It also says which process this is, so that two ends of a connection can find out that they are
// on one host.
//
// The system allows the copy to a process that may attach a debugger to the other one: as a rule one of the same user, unless hardening (Yama's
// ptrace_scope, seccomp) forbids it. Callers need not know beforehand: the first attempt shows it.
package cma
