package tcp

import (
	"gofabric/internal/netx"
	"gofabric/internal/progress"
)

// unixCarrier is a local socket to a process on this host (unix(7)).
type unixCarrier struct{ socketCarrier }

func (c *unixCarrier) register(prog *progress.Engine, bufs *buffers, src progress.Source, _ bool) (*progress.Handle, error) {
	netx.SetBuffers(c.fd, loopbackSendBuf, 0) // an error is ignored: the socket is only slower
	return c.registerSocket(prog, bufs, src, true, netx.In)
}

// connected is never called, because the socket is connected from the start.
func (*unixCarrier) connected() (bool, error) { return true, nil }

// delivery: bytes in a local socket reach the peer even if this process ends.
func (*unixCarrier) delivery() delivery { return delivery{} }

func (*unixCarrier) can() abilities { return abilities{singleCopy: true} }

func (*unixCarrier) String() string { return "a local socket" }
