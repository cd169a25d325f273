// Package progress advances the operations of a domain: on the thread that reads a queue, and on a goroutine of its
// own while no thread does. This is how gofabric provides FI_PROGRESS_AUTO and FI_PROGRESS_MANUAL of fi_domain(3).
//
// An Engine owns one poller and one lock, the domain's. A reader that finds its queue empty calls Pass, which makes
// one round of non-blocking system calls. While callers make passes, the Engine's goroutine wakes only for a slow
// tick. The poller is then detached from the Go runtime, because the kernel would wake the runtime for every
// packet, at the cost of the callers. The goroutine takes over when a tick finds that no pass was made since the
// tick before, or when a reader goes to sleep (EnterWait). The next Pass of a caller sends the goroutine back to
// its ticks.
//
//	        a tick without passes, or EnterWait
//	polled ------------------------------------> armed
//	       <------------------------------------
//	          Pass by a caller, no reader sleeping
//
// Posts that follow one another before the next pass may wait for it and leave together. Package batch decides
// that. The Engine reports passes to its batch.Scheduler and sets the timer for it. Each tick also checks whether
// posts wait although the application has stopped making passes.
//
// A domain with one or two stream sockets reads them in each pass without asking the poller. While passes follow each
// other quickly, these sockets leave the poller altogether (becomeDirect). A pass then asks the poller only now and then, for
// listeners and for room to write. If passes are rare, each of them asks. Streams in memory (RegisterMemory) are
// always read directly, for any number of sockets, and do not count here.
//
// Protocol engines are not called from within their own callbacks. Work that comes up in one becomes a Task
// (RunOnUnlock), which the holder of the lock runs when it unlocks. Operations that wait for counters start this
// way.
//
// The goroutine never waits for the lock. If the lock is held, it notes why it woke as pending work, and the holder
// does that work when it unlocks (Engine.Unlock).
package progress
