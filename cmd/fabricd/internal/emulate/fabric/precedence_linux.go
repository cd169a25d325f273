package fabric

import "golang.org/x/sys/unix"

// becomeFirst has this thread go before the programs of the machine, where the system allows it (root): a switch does not wait until the hosts at its cables
// have computed what they compute. Without, each frame waits for a processor as long as those who want one make it. Nobody starves: the thread sleeps unless
// frames come, whose senders need a processor too, and the system leaves the others some of each second (sched(7), sched_rt_runtime_us). A nice value would
// not do: where sessions are groups (CONFIG_SCHED_AUTOGROUP) it says nothing to other sessions.
func becomeFirst() error {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	return unix.SchedSetAttr(0, &a, 0)
}
