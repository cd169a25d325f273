package gofabric

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"

	"gofabric/core"
)

// This file has the active side of connections (fi_cm(3)).

// RejectedError is the error of Dial when the peer refuses the connection. It wraps core.ErrConnRefused.
type RejectedError struct {
	PrivateData []byte // argument of Request.Reject
	Err         error
}

func (e *RejectedError) Error() string { return e.Err.Error() }
func (e *RejectedError) Unwrap() error { return e.Err }

// Dial connects to a listener (fi_connect(3)). It returns when the connection is established or refused, or when ctx
// ends. addr has the form of Endpoint.Insert's. Pass Connected as the peer to the endpoint's transfers.
// Endpoint.PrivateData has the listener's answer. The error of a refusal is a *RejectedError.
func Dial(ctx context.Context, addr string, cfg Config) (*Endpoint, error) {
	const name = "fi_connect"
	c := configure(cfg)
	c.Type = core.EPTypeMsg
	node, service, err := splitAddr(name, addr)
	if err != nil {
		return nil, err
	}
	q := c.query(node, service, false)
	if c.Node != "" {
		ip, err := netip.ParseAddr(c.Node)
		if err != nil {
			return nil, &core.OpError{Op: name, Peer: addr, Err: &cause{core.ErrInval, err}, Hint: "for Dial, Config.Node must be an IP address of this machine"}
		}
		q.Hints.SrcAddr = core.IPAddr(netip.AddrPortFrom(ip, 0))
	}
	info, err := c.system.choose(c, q)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &core.OpError{Op: name, Provider: info.Fabric.ProvName, Peer: addr, Err: ended(context.Cause(ctx))}
	}
	b, err := openBase(c.system, info)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{base: b, grace: c.grace, linger: c.linger, peer: info.DestAddr}
	if err = e.open(info, 0); err == nil {
		err = e.ep.Connect(info.DestAddr, c.PrivateData)
	}
	if err == nil {
		err = e.connected(ctx, name)
	}
	if err != nil {
		err = e.opError(name, Connected, err, "")
		e.Close()
		return nil, err
	}
	return e, nil
}

// connected waits for the result of Connect or Accept.
func (e *Endpoint) connected(ctx context.Context, name string) error {
	var ev core.EQEvent
	for {
		err := e.eq.SRead(ctx, &ev, 0)
		switch {
		case err == nil && ev.Type == core.EventConnected:
			e.cmd = ev.CMData
			if e.name, err = e.ep.Name(); err != nil {
				return err
			}
			if p, err := e.ep.Peer(); err == nil {
				e.peer = p
			}
			e.watched.Store(true)
			e.base.hub.watch()
			return nil
		case err == nil && ev.Type == core.EventShutdown:
			return core.ErrConnReset
		case err == nil:
		case err == core.ErrAvail:
			var bad core.EQErrEntry
			if err := e.eq.ReadErr(&bad, 0); err != nil {
				continue
			}
			return e.opError(name, Connected, &RejectedError{PrivateData: bad.ErrData, Err: bad.Err}, bad.Detail)
		case ctx.Err() != nil:
			return ended(context.Cause(ctx))
		case !errors.Is(err, core.ErrAgain):
			return err
		}
	}
}

// splitAddr splits an address into the arguments of GetInfo. An address with a scheme is not split.
func splitAddr(name, addr string) (node, service string, err error) {
	if strings.Contains(addr, "://") {
		return addr, "", nil
	}
	node, service, err = net.SplitHostPort(addr)
	if err != nil {
		err = &core.OpError{Op: name, Peer: addr, Err: &cause{core.ErrInval, err}, Hint: "pass node and port, such as node7:7471"}
	}
	return node, service, err
}
