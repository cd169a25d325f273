package gofabric

import (
	"context"

	"gofabric/core"
)

// Request is a peer's request for a connection (FI_CONNREQ). Answer it once, with Accept or Reject.
type Request struct {
	l        *Listener
	info     *core.Info
	private  []byte
	answered bool
}

// PrivateData returns Config.PrivateData of the side that dials. The caller owns it.
func (r *Request) PrivateData() []byte { return r.private }

// Peer returns the address of the side that dials.
func (r *Request) Peer() core.Addr { return r.info.DestAddr }

// Accept accepts the connection (fi_accept(3)) and waits until it is established. The other side gets private from
// Endpoint.PrivateData.
func (r *Request) Accept(ctx context.Context, private []byte) (*Endpoint, error) {
	const name = "fi_accept"
	l := r.l
	if err := r.answer(name); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	l.base.refs.Add(1)
	e := &Endpoint{base: l.base, grace: l.cfg.grace, linger: l.cfg.linger, peer: r.info.DestAddr}
	err := e.open(r.info, 0)
	if err != nil {
		l.pep.Reject(r.info.Handle, nil) // otherwise the other side would wait for its deadline
	} else if err = e.ep.Accept(private); err == nil {
		err = e.connected(ctx, name)
	}
	if err != nil {
		e.Close()
		return nil, l.opError(name, r.info.DestAddr, err)
	}
	e.cmd = r.private
	return e, nil
}

// Reject refuses the connection (fi_reject(3)). The other side gets private in its RejectedError.
func (r *Request) Reject(private []byte) error {
	const name = "fi_reject"
	if err := r.answer(name); err != nil {
		return err
	}
	defer r.l.calls.Done()
	if err := r.l.pep.Reject(r.info.Handle, private); err != nil {
		return r.l.opError(name, r.info.DestAddr, err)
	}
	return nil
}

// answer begins the answer to the request. If it returns nil, the caller must call calls.Done.
func (r *Request) answer(name string) error {
	if !r.l.enter() {
		return r.l.opError(name, r.info.DestAddr, core.ErrShutdown)
	}
	if r.answered {
		r.l.calls.Done()
		return r.l.opError(name, r.info.DestAddr, core.ErrAlready)
	}
	r.answered = true
	return nil
}
