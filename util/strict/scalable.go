package strict

import "gofabric/core"

// scalable is a scalable endpoint.
type scalable struct {
	*endpoint
	below core.ScalableEndpoint
}

// OpenScalable is fi_scalable_ep (fi_endpoint(3)).
func (d *domain) OpenScalable(info *core.Info) (core.ScalableEndpoint, error) {
	below, err := d.Domain.OpenScalable(info)
	if err != nil {
		return nil, err
	}
	e := &scalable{endpoint: d.over(below, info), below: below}
	d.f.stands(below, e)
	return e, nil
}

// TxContext is fi_tx_context(3).
func (e *scalable) TxContext(index int, attr *core.TxAttr) (core.Endpoint, error) {
	below, err := e.below.TxContext(index, attr)
	if err != nil {
		return nil, err
	}
	c := e.context(below)
	if attr != nil {
		c.transmitter.flags = attr.OpFlags
	}
	return c, nil
}

// RxContext is fi_rx_context(3).
func (e *scalable) RxContext(index int, attr *core.RxAttr) (core.Endpoint, error) {
	below, err := e.below.RxContext(index, attr)
	if err != nil {
		return nil, err
	}
	c := e.context(below)
	if attr != nil {
		c.receiver.flags = attr.OpFlags
	}
	return c, nil
}

// context makes the endpoint in front of a context of e.
func (e *scalable) context(below core.Endpoint) *endpoint {
	c := e.s.d.over(below, e.s.info)
	c.s.av = e.s.av
	return c
}
