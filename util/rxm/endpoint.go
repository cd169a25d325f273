package rxm

import (
	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
	"gofabric/internal/rdmep"
	"gofabric/internal/xnet/engine"
	"gofabric/util/rxm/wire"
)

// rdmEndpoint is a reliable-datagram endpoint of this layer, with its state for native peers. The domain's lock
// guards all of it.
type rdmEndpoint struct {
	rdmep.Endpoint
	d       *domain
	upper   *engine.Config
	packets packets
}

func (d *domain) openEndpoint(info *core.Info) (endpoint.Base, error) {
	ep := &rdmEndpoint{d: d, upper: d.s.upper(max(info.Tx.Size, 1))}
	ep.packets.init(&d.pool, wire.MaxHeader+d.s.bufferSize)
	err := ep.Init(rdmep.Config{Domain: &d.Domain, Info: info, Lower: info.Lower(), Protocol: peers.Protocol{
		Below: d.Lower, Conn: d.conn(info), Negotiator: (*negotiator)(ep), Patience: d.s.connectTimeout,
		MaxConns: d.s.maxConns, IdleTime: d.s.idleTime, Aux: d.s.conns - 1, AuxNegotiator: (*negotiator)(ep)}})
	if err != nil {
		return nil, err
	}
	ep.Opened(ep)
	return ep, nil
}

// Close closes the endpoint and its connections (fi_close(3)).
func (ep *rdmEndpoint) Close() error {
	return ep.CloseWith(&ep.Set, func() {
		ep.Set.Close()
		ep.packets.rx.Release()
	})
}
