// Package cq is the completion service that all providers share: completion queues (fi_cq(3)), counters
// (fi_cntr(3)), event queues (fi_eq(3)), wait sets and poll sets (fi_poll(3)).
//
// # Locking
//
// A Queue or Counter has no lock of its own: the lock of its domain's progress engine (Progress) protects it.
// Providers hold that lock anyway when they push, so that a completion costs a few stores. "Locked" in a comment
// means that the caller holds it. An EventQueue has its own mutex, because several engines push events to it. The
// lock order is engine, event queue, wait set. No function here calls an engine while it holds a mutex of this
// package.
//
// # Waiting
//
// A caller that is about to sleep checks the queue and registers under one lock. From then on the next push takes a
// slow path that wakes all sleepers. Each sleeper checks the queue again, and sleeps again if another reader was
// faster. So no wake-up is lost, and a queue without sleepers has no extra cost. The descriptor of a queue (WaitFD)
// becomes readable only after TryWait allowed a sleep on it, which avoids a system call for each completion.
package cq
