package rxd

import (
	"gofabric/core"
	"gofabric/internal/batch/batchtest"
	"gofabric/internal/transport/datagram"
)

// portChanger is a domain that opens other ports in place of those of the domain below.
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

// ChangePorts makes the endpoints of a domain use the ports that change returns in place of their own.
func ChangePorts(d *core.Domain, change func(datagram.Port) datagram.Port) {
	dom := d.Driver().(*domain)
	dom.Lower = portChanger{dom.Lower, change}
}

// Gathers reports whether posted messages of an endpoint wait, and whether the scheduler assumes that the
// application makes no passes.
func Gathers(ep *core.Endpoint) (staged, late bool) {
	e := ep.Driver().(*rdmEndpoint)
	e.prog.Lock()
	defer e.prog.Unlock()
	return e.batch.Waiting(), e.prog.Batch().Away()
}

// TakeClock stops the clock by which an endpoint's messages wait.
func TakeClock(ep *core.Endpoint) *batchtest.Host {
	e := ep.Driver().(*rdmEndpoint)
	e.prog.Lock()
	defer e.prog.Unlock()
	return batchtest.Take(e.prog.Batch())
}
