// Package cq is the completion service that all providers share: completion queues (fi_cq(3)), counters (fi_cntr(3)), event queues (fi_eq(3)), wait
// sets and poll sets (fi_poll(3)).
//
// # Locking
//
// A Queue or Counter has no lock of its own: the lock of its domain's progress engine (Progress) protects it. Providers push while they hold that lock
// anyway, so a completion costs a few stores. An EventQueue has its own mutex, because its events come from several engines. The lock order is engine,
// event queue, wait set. No function here calls an engine while it holds a mutex of its own.
//
// # Waiting
//
// A caller that is about to sleep registers under the lock, after it has checked the queue under the same lock. From then on the next push takes a slow path
// that wakes all sleepers. Each sleeper checks again, and goes back to sleep if another one was faster. So no wake-up is lost, and a queue without sleepers
// pays nothing. The descriptor of a queue (WaitFD) becomes readable only after TryWait allowed a sleep on it: no system call per completion.
package cq
