// Package rma is the simulated connection below rxm. It carries messages, and reads and writes of memory that the peer
// has registered or exposed. It has one connection or several, each in order. The caller delivers each frame: the
// gateway's own tests explicitly, package sim at the frame's time. Payload is read from the lent buffer as late as the
// loan allows, so that a buffer that is reused too early is noticed.
package rma
