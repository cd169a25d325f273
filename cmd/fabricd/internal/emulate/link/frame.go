package link

import "gofabric/internal/mono"

// Frame is an Ethernet frame on its way. Its owner is whoever it was given to last.
type Frame struct {
	B    []byte
	Left mono.Time // when its last bit has left the line
	At   mono.Time // when it arrives at the far end

	// For the Out.
	From int // who sent it
	Way  int // which link it is on
}

// Retime has a frame leave the line at another time, and arrive as much earlier or later.
func (f *Frame) Retime(again func(left mono.Time) mono.Time) {
	way := f.At.Sub(f.Left)
	f.Left = again(f.Left)
	f.At = f.Left.Add(way)
}

// group reports whether the frame is to a group of receivers: the lowest bit of its destination's first byte (IEEE 802).
func (f *Frame) group() bool { return len(f.B) > 0 && f.B[0]&1 != 0 }

// Out takes what comes out of a Link.
type Out interface {
	// Deliver has a frame arrive at f.At, which may be now.
	Deliver(f *Frame)
	// Copy returns a second f, or nil where there is no room.
	Copy(f *Frame) *Frame
	// Free takes back a frame that does not arrive.
	Free(f *Frame)
}
