package pingpong

import (
	"context"
	"errors"
	"fmt"

	"gofabric/core"
)

// This file makes the endpoints of the two ends reachable: by addresses in each other's vectors, or by a
// connection.

// setup opens the endpoint and makes the peer reachable. A server's b.info is already known.
func (b *bench) setup(hints *core.Info) error {
	switch {
	case b.cfg.Type != core.EPTypeMsg:
		return b.setupConnectionless(hints)
	case b.cfg.isClient():
		return b.connect(hints)
	}
	return b.accept()
}

// setupConnectionless is for RDM and DGRAM: the server sends its address first.
func (b *bench) setupConnectionless(hints *core.Info) (err error) {
	var peer core.Addr
	client := b.cfg.isClient()
	if client {
		if hints.AddrFormat, peer, err = b.ctl.recvName(); err != nil {
			return err
		}
		hints.DestAddr = peer
		if b.info, err = b.getInfo(hints); err != nil {
			return err
		}
	}
	if err := b.openFabric(b.info); err != nil {
		return err
	}
	if err := b.openEndpoint(); err != nil {
		return err
	}
	self, err := b.ep.Name()
	if err != nil {
		return fmt.Errorf("asking for the endpoint's address: %w", err)
	}
	if err := b.ctl.sendName(b.info.AddrFormat, self); err != nil {
		return err
	}
	if !client {
		if _, peer, err = b.ctl.recvName(); err != nil {
			return err
		}
	}
	b.cfg.logf("addresses: here %v, peer %v", self, peer)
	fi := []core.FIAddr{core.AddrNotAvail}
	n, err := b.av.Insert([]core.Addr{peer}, fi, 0)
	if err == nil && n != 1 {
		err = core.ErrInval
	}
	if err != nil {
		return fmt.Errorf("inserting the peer's address %v: %w", peer, err)
	}
	b.peer = fi[0]
	if b.cfg.Type == core.EPTypeDgram {
		// Post a second receive, so that one is posted when the last message arrives.
		return b.spinPost(b.rxCQ, func() error { return b.recvOnce() })
	}
	return nil
}

// connect is the client of MSG endpoints.
func (b *bench) connect(hints *core.Info) error {
	format, peer, err := b.ctl.recvName()
	if err != nil {
		return err
	}
	hints.AddrFormat, hints.DestAddr = format, peer
	if b.info, err = b.getInfo(hints); err != nil {
		return err
	}
	if err := b.openFabric(b.info); err != nil {
		return err
	}
	if err := b.openEndpoint(); err != nil {
		return err
	}
	b.cfg.logf("connecting to %v", peer)
	if err := b.ep.Connect(peer, nil); err != nil {
		return fmt.Errorf("connecting to %v: %w", peer, err)
	}
	_, err = b.event(core.EventConnected)
	return err
}

// accept is the server of MSG endpoints.
func (b *bench) accept() (err error) {
	info := b.info
	if err := b.openFabric(info); err != nil {
		return err
	}
	if b.pep, err = b.fabric.OpenPassiveEndpoint(info); err != nil {
		return fmt.Errorf("opening the passive endpoint: %w", err)
	}
	if err := b.pep.BindEQ(b.eq, 0); err != nil {
		return fmt.Errorf("binding the passive endpoint: %w", err)
	}
	if err := b.pep.Listen(); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	self, err := b.pep.Name()
	if err != nil {
		return fmt.Errorf("asking for the passive endpoint's address: %w", err)
	}
	b.cfg.logf("listening at %v", self)
	if err := b.ctl.sendName(info.AddrFormat, self); err != nil {
		return err
	}
	ev, err := b.event(core.EventConnReq)
	if err != nil {
		return err
	}
	if ev.Info == nil {
		return errors.New("the connection request has no Info: this is a bug of the provider")
	}
	b.info = ev.Info
	err = b.openEndpoint()
	if err == nil {
		err = b.ep.Accept(nil)
	}
	if err != nil {
		// The error is known already. The refusal only saves the client its time-out.
		_ = b.pep.Reject(ev.Info.Handle, nil)
		return fmt.Errorf("accepting the connection: %w", err)
	}
	_, err = b.event(core.EventConnected)
	return err
}

// event waits for the next event, which must be of the given type.
func (b *bench) event(want core.EQEventType) (core.EQEvent, error) {
	ctx, cancel := context.WithTimeout(b.ctx, b.cfg.Timeout)
	defer cancel()
	var ev core.EQEvent
	err := b.eq.SRead(ctx, &ev, 0)
	switch {
	case err == nil && ev.Type == want:
		return ev, nil
	case err == nil:
		return ev, fmt.Errorf("got event %v, expected %v", ev.Type, want)
	case errors.Is(err, core.ErrAvail):
		return ev, b.eventError(want)
	case b.ctx.Err() != nil:
		return ev, context.Cause(b.ctx)
	case ctx.Err() != nil:
		return ev, fmt.Errorf("no event %v within %v: the peer's control connection works, its fabric traffic does not arrive; check firewalls and the interface (-s, -d)",
			want, b.cfg.Timeout)
	}
	return ev, fmt.Errorf("waiting for event %v: %w", want, err)
}

// eventError reads the error event and returns it as an error.
func (b *bench) eventError(want core.EQEventType) error {
	var e core.EQErrEntry
	if err := b.eq.ReadErr(&e, 0); err != nil {
		return fmt.Errorf("reading the error event: %w", err)
	}
	detail := e.Detail
	if detail == "" {
		detail = b.eq.StrError(e.ProvErrno)
	}
	return fmt.Errorf("waiting for event %v: %s: %w", want, detail, e.Err)
}
