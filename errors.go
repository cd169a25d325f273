package gofabric

import (
	"context"
	"errors"

	"gofabric/core"
)

// This file makes the errors of this package. Each names operation, provider, local address and peer.

// cause combines two errors: libfabric's number and the error that led to it. errors.Is matches both.
type cause struct {
	errno core.Errno
	why   error
}

func (c *cause) Error() string   { return c.errno.Error() + ": " + c.why.Error() }
func (c *cause) Unwrap() []error { return []error{c.errno, c.why} }

// ended returns the error of a call whose context has ended: core.ErrTimedOut or core.ErrCanceled, and the context's
// cause.
func ended(why error) error {
	if errors.Is(why, context.DeadlineExceeded) {
		return &cause{core.ErrTimedOut, why}
	}
	return &cause{core.ErrCanceled, why}
}

// hintFor returns advice for an error of a data transfer.
func hintFor(err error) string {
	var e core.Errno
	errors.As(err, &e)
	switch e {
	case core.ErrTrunc:
		return "the message is longer than the receive buffer"
	case core.ErrConnRefused:
		return "no endpoint listens there; is the peer running?"
	case core.ErrKeyRejected, core.ErrAccess:
		return "key, bounds or access rights of the remote memory do not allow this; does the peer still have the memory registered?"
	case core.ErrShutdown:
		return "the peer has closed its endpoint, or this side has called CloseWrite"
	case core.ErrConnReset, core.ErrConnAborted, core.ErrNotConn:
		return "the connection ended without a closing message: the peer's process or host died, or the peer is native libfabric, which sends none"
	case core.ErrHostUnreach, core.ErrNetUnreach, core.ErrHostDown:
		return "check the route and the firewall"
	case core.ErrNoKey:
		return "the peer has not registered the memory"
	case core.ErrMsgSize:
		return "the message is longer than EP.MaxMsgSize of the endpoint's Info: split it"
	case core.ErrOpNotSupp, core.ErrNoSys:
		return "ask for the capability with Caps when opening the endpoint"
	}
	return ""
}

// opError describes a failure of e. An error that is an OpError is returned unchanged.
func (e *Endpoint) opError(name string, to Peer, err error, hint string) error {
	var have *core.OpError
	if errors.As(err, &have) {
		return err
	}
	if hint == "" {
		hint = hintFor(err)
	}
	o := &core.OpError{Op: name, Provider: e.base.info.Fabric.ProvName, Object: e.name.String(), Err: err, Hint: hint}
	switch {
	case !e.peer.IsZero():
		o.Peer = e.peer.String()
	case to != AnyPeer && e.av != nil:
		if a, err := e.av.Lookup(core.FIAddr(to)); err == nil {
			o.Peer = a.String()
		}
	}
	return o
}

// failure returns the error of an operation that has completed with one.
func (e *Endpoint) failure(name string, to Peer, o *op) error {
	err := e.opError(name, to, o.err, o.text)
	if oe, ok := err.(*core.OpError); ok && oe.Peer == "" && !o.peer.IsZero() {
		oe.Peer = o.peer.String()
	}
	return err
}
