package wire

import "math/bits"

// Order is the byte order of transfer headers on one connection. Native peers
// write headers as they lie in memory; when the two ends' orders differ both
// use network order. So between two little-endian ends, and gofabric is one on
// every machine, the order is Little; with a big-endian peer it is Big.
// Connection management tells which (CM.SwapNeeded). Payload is never touched.
type Order uint8

// The byte orders.
const (
	Little Order = iota
	Big
)

// String is "little" or "big".
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
