package link

import "gofabric/internal/mono"

// Frame is an Ethernet frame under way. It belongs to the last function that received it.
type Frame struct {
	B    []byte
	Left mono.Time // time at which its last bit leaves the line
	At   mono.Time // time at which it arrives at the far end

	// For the Out.
	From int // sender
	Way  int // which link it is on
}

// Retime changes the time at which a frame leaves the line. It arrives earlier or later by the same amount.
func (f *Frame) Retime(again func(left mono.Time) mono.Time) {
	way := f.At.Sub(f.Left)
	f.Left = again(f.Left)
	f.At = f.Left.Add(way)
}

// group reports whether the frame has a group address: the lowest bit of the destination's first byte (IEEE 802).
func (f *Frame) group() bool { return len(f.B) > 0 && f.B[0]&1 != 0 }

// Out receives the frames that leave a Link.
type Out interface {
	// Deliver makes a frame arrive at f.At, which may be now.
	Deliver(f *Frame)
	// Copy returns a copy of f, or nil if there is no room.
	Copy(f *Frame) *Frame
	// Free takes a frame that does not arrive.
	Free(f *Frame)
}
