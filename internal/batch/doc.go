// Package batch decides when a small message leaves: at once, or with others that follow it. A send call of the system
// costs as much for one small message as for a hundred; waiting for others must not cost latency.
//
// A domain has one Scheduler, and each stream of its endpoints (a connection, an endpoint of datagrams) has a Stream.
// The driver of the stream asks Posted about each message that an application has posted, and transmits if it says so.
// If not, the Scheduler calls the driver's Flush later:
//
//	posted --> Stream.Posted --- true ---> the driver transmits, then Stream.Transmitted
//	               | false
//	               v
//	           waiting ----- Scheduler.Pass, Flush, Expired ----> Flusher.Flush, then Stream.Flushed
//
// While a stream waits, a message like the one before it can join that one (Stream.Admits, engine.Conn.Join), and the
// driver is not asked at all.
//
// docs/decisions/0003-staging-and-the-first-post.md has the rules and what they were measured with.
//
// The package does no I/O and reads no clock: a Host gives it the time when a rule needs it, which is not for every
// message, and wakes it. Nothing here is safe for concurrent use: the domain's lock guards it.
package batch
