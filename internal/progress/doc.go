// Package progress advances the operations of a domain: on the thread of whoever reads a queue, and by itself when nobody does.
//
// An Engine owns one poller and one lock, the domain's. A reader that finds its queue empty calls Pass: one round of non-blocking system calls.
// While somebody passes, the Engine's own goroutine sleeps on a slow tick and its poller is detached from the Go runtime, for a descriptor that
// wakes the runtime on every packet costs the pollers dearly. When a tick sees that no pass was made since the one before, or when a reader goes
// to sleep (EnterWait), the goroutine takes over; the next Pass from outside sends it back to its ticks.
//
//	        a tick without passes, or EnterWait
//	polled ------------------------------------> armed
//	       <------------------------------------
//	           Pass by a caller, nobody waiting
//
// Posts that follow one another before the next pass may wait for it and leave together: package batch decides that. The Engine tells its Scheduler of
// passes, sets the timer for it, and looks with each tick whether something waits because the application has stopped making passes.
//
// One or two stream sockets are read without asking the poller, and while passes follow each other they leave the poller altogether
// (becomeDirect). The poller is then asked now and then, for listeners and write readiness; in each pass where passes are rare. Streams in memory
// (RegisterMemory) are always read so, beside any number of sockets; these are then asked for as if they were alone.
//
// What comes up while a socket is being served, but must not be done there, for protocol engines are not called from within, is a Task (Soon): whoever
// holds the lock runs it on unlocking. Operations that wait for counters start so.
//
// The goroutine never queues up for the lock: what it woke for it leaves as an errand to whoever holds it (Engine.Unlock).
package progress
