//go:build !fabricbasic

// Control messages of datagrams.

package netx

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// segmentOf returns the size of a run's datagrams from the control messages, 0 if there is none.
func segmentOf(control []byte) int {
	for len(control) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		if h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4 {
			return int(binary.NativeEndian.Uint32(data))
		}
		control = rest
	}
	return 0
}

// Batches reports whether RecvBatch and SendBurst pass many datagrams with one call.
const Batches = true

// batchVecs is a Batch in the form that recvmmsg takes.
type batchVecs struct {
	hdrs []unix.Mmsghdr
	iovs []unix.Iovec
}

// burstVecs is a Burst in the form that sendmmsg takes.
type burstVecs struct{ hdrs []unix.Mmsghdr }
