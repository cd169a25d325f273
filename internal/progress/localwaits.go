package progress

// Operations that wait for other processes of this host. Such a process may have no processor of its own, so a
// waiter that polls keeps it from running: two pollers on one processor need a time slice of the scheduler for each
// step. A waiter therefore gives the processor away (sched_yield(2)). This costs a system call even if no other
// process is ready to run.

// pendingYield asks for the processor to be given away.
const pendingYield = 1 << 29

// AddLocalWaits changes by n the number of operations that wait for other processes of this host. While there are any,
// Unlock after a caller's pass gives the processor away, with the lock released. Locked.
func (e *Engine) AddLocalWaits(n int) { e.localWaits += n }
