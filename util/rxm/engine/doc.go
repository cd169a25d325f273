// Package engine is the gateway between a Conn of internal/xnet/engine, which is what an rxm endpoint posts to, and a native rxm peer. It takes operations
// from the Conn's stream and makes packets, reads and writes of the connection below from them, and turns the peer's packets into the Conn's stream.
//
// Messages up to the eager limit are a packet. Longer ones are cut into segments, up to the SAR limit; still longer ones stay where they are and are announced
// (rendezvous): the receiver reads them, or has them written, with the connection's own remote memory access. Announced messages go past the Conn's stream in
// both directions, so that others overtake them, as natively (internal/xnet/engine, Conn.Carry).
//
// It does no I/O, knows no clock and starts no goroutine. All calls are made under the lock of the domain.
package engine
