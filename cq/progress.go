package cq

// What the queues need of the engine below them.

// Progress makes progress for a domain and holds its lock. All methods but Lock and Unlock are called with the lock held. They must stay callable
// after the engine was closed, when they do nothing.
type Progress interface {
	Lock()
	Unlock()
	// Pass makes one round of non-blocking progress; completions are pushed meanwhile.
	Pass()
	// FlushStaged transmits what posts have staged.
	FlushStaged()
	// EnterWait says that a caller will sleep until something is pushed: the engine must advance by itself. LeaveWait ends it; calls nest.
	EnterWait()
	LeaveWait()
}
