package atomics

import "bytes"

// swapBits is CSwap for operands of size bytes of any type.
func swapBits(size int, target, operand, compare []byte) {
	for at := 0; at < len(target); at += size {
		if d := target[at : at+size]; bytes.Equal(d, compare[at:at+size]) {
			copy(d, operand[at:at+size])
		}
	}
}
