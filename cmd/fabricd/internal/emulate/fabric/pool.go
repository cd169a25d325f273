package fabric

import "gofabric/cmd/fabricd/internal/emulate/link"

// maxMemory bounds the memory of frames under way, in bytes: 0.1 s of 10 Gbit/s.
const maxMemory = 128 << 20

// pool reuses frames and bounds their number.
type pool struct {
	size int // bytes of a frame
	left int // number of frames that may still be made
	free []*link.Frame
}

func newPool(mtu int) pool {
	size := mtu + frameOverhead
	return pool{size: size, left: maxMemory / size}
}

// take returns a frame with room for the largest one, or nil if all are under way.
func (p *pool) take() *link.Frame {
	if n := len(p.free); n > 0 {
		f := p.free[n-1]
		p.free[n-1] = nil
		p.free = p.free[:n-1]
		f.B = f.B[:p.size]
		return f
	}
	if p.left == 0 {
		return nil
	}
	p.left--
	return &link.Frame{B: make([]byte, p.size)}
}

func (p *pool) put(f *link.Frame) { p.free = append(p.free, f) }
