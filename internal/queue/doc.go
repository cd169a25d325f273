// Package queue has the module's two general queues: Heap, which is ordered by a key such as a time, and FIFO.
// Neither has a lock. Neither allocates once it has grown to the size that its user needs.
package queue
