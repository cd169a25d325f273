package cq

// This file has the interface of the progress engine below the queues.

// Progress makes progress for a domain and holds its lock. All methods except Lock and Unlock are called with the
// lock held. After the engine is closed they may still be called, and do nothing.
type Progress interface {
	Lock()
	Unlock()
	// Pass makes one round of non-blocking progress. It may push completions.
	Pass()
	// FlushStaged transmits the messages that posts have collected.
	FlushStaged()
	// EnterWait announces that a caller will sleep until a push: the engine must make progress by itself. LeaveWait
	// ends this. Calls nest.
	EnterWait()
	LeaveWait()
}
