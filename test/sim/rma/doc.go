// Package rma is the simulated connection below rxm: messages, and reads and writes of memory that the peer has registered or exposed. It has one connection or
// several, each in order. The caller moves each frame: the gateway's own tests by hand, package sim at the frame's time. Payload is read where it was lent,
// as late as the loan allows, so that a buffer reused too early is found out.
package rma
