package fabric

import "golang.org/x/sys/unix"

// becomeFirst gives this thread real-time priority, if the system allows it (root): a switch must not wait until
// the hosts at its ports have finished a computation. Otherwise each frame waits for a processor. No process
// starves: the thread sleeps unless there are frames, whose senders need a processor, too, and the system reserves
// a part of each second for others (sched(7), sched_rt_runtime_us). A nice value is not enough: where sessions are
// groups (CONFIG_SCHED_AUTOGROUP) it has no effect on other sessions.
func becomeFirst() error {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	return unix.SchedSetAttr(0, &a, 0)
}
