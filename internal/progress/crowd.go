package progress

// Waiting for processes of the same host that may have no processor: whoever polls for what they are to do keeps them from doing it, and two that poll on one
// processor take a time slice for each step, though there may be others. Giving it away costs a system call where nobody else wants it.

// errandYield is the errand of giving the processor away.
const errandYield = 1 << 29

// Crowd changes by n how many operations wait for several processes of this host. While there are any, a caller's pass gives the processor away afterwards,
// without the lock. Locked.
func (e *Engine) Crowd(n int) { e.crowd += n }
