package rxd

import (
	"gofabric/core"
	"gofabric/internal/batch/batchtest"
	"gofabric/internal/transport/datagram"
)

// portChanger is the domain below, whose ports are others.
type portChanger struct {
	datagram.Domain
	change func(datagram.Port) datagram.Port
}

func (c portChanger) OpenPort(info *core.Info, r datagram.Receiver) (datagram.Port, error) {
	p, err := c.Domain.OpenPort(info, r)
	if err == nil {
		p = c.change(p)
	}
	return p, err
}

// ChangePorts has the endpoints of a domain stand on what change makes of their ports.
func ChangePorts(d *core.Domain, change func(datagram.Port) datagram.Port) {
	dom := d.Driver().(*domain)
	dom.Lower = portChanger{dom.Lower, change}
}

// Gathers says whether what was posted to an endpoint waits, and whether the application is thought to stay away.
func Gathers(ep *core.Endpoint) (staged, late bool) {
	e := ep.Driver().(*rdmEndpoint)
	e.prog.Lock()
	defer e.prog.Unlock()
	return e.batch.Waiting(), e.prog.Batch().Away()
}

// TakeClock has the clock by which an endpoint's messages wait stand still.
func TakeClock(ep *core.Endpoint) *batchtest.Host {
	e := ep.Driver().(*rdmEndpoint)
	e.prog.Lock()
	defer e.prog.Unlock()
	return batchtest.Take(e.prog.Batch())
}
