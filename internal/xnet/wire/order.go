package wire

import "math/bits"

// Order is the byte order of transfer headers on one connection. Native peers write headers in their own order; if
// the orders of the two ends differ, both use network order. gofabric is little-endian on every machine, so the
// order is Little between little-endian ends, and Big with a big-endian peer. Connection management shows which
// (CM.SwapNeeded). Payload is never swapped.
type Order uint8

// The byte orders.
const (
	Little Order = iota
	Big
)

// String returns "little" or "big".
func (o Order) String() string {
	if o == Big {
		return "big"
	}
	return "little"
}

// u16 and u64 turn a value read or written as little-endian into the order.
// They are their own inverse.

func (o Order) u16(v uint16) uint16 {
	if o == Big {
		return bits.ReverseBytes16(v)
	}
	return v
}

func (o Order) u64(v uint64) uint64 {
	if o == Big {
		return bits.ReverseBytes64(v)
	}
	return v
}
