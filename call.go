package gofabric

import (
	"context"
	"io"
	"time"

	"gofabric/core"
)

// This file has the course of every call: post, wait, and give up when the context ends.

// verb is a kind of transfer.
type verb uint8

const (
	send verb = iota
	sendData
	recv
	tsend
	tsendData
	trecv
	read
	write
)

var verbNames = [...]string{"fi_send", "fi_senddata", "fi_recv", "fi_tsend", "fi_tsenddata", "fi_trecv", "fi_read", "fi_write"}

// receives reports whether a verb waits for a message from the peer.
func (v verb) receives() bool { return v == recv || v == trecv }

// request has the arguments of a call. It is on the caller's stack.
type request struct {
	verb   verb
	peer   Peer
	buf    []byte
	tag    uint64
	ignore uint64
	data   uint64
	addr   uint64
	key    uint64
}

// post passes r to the provider. It is called with e.mu held for reading.
func (e *Endpoint) post(r *request, ctx core.OpContext) error {
	to := core.FIAddr(r.peer)
	switch r.verb {
	case send:
		return e.ep.Send(r.buf, 0, to, ctx)
	case sendData:
		return e.ep.SendData(r.buf, 0, r.data, to, ctx)
	case recv:
		if e.srx != nil {
			return e.srx.Recv(r.buf, 0, to, ctx)
		}
		return e.ep.Recv(r.buf, 0, to, ctx)
	case tsend:
		return e.ep.TSend(r.buf, 0, to, r.tag, ctx)
	case tsendData:
		return e.ep.TSendData(r.buf, 0, r.data, to, r.tag, ctx)
	case trecv:
		if e.srx != nil {
			return e.srx.TRecv(r.buf, 0, to, r.tag, r.ignore, ctx)
		}
		return e.ep.TRecv(r.buf, 0, to, r.tag, r.ignore, ctx)
	case read:
		return e.ep.Read(r.buf, 0, to, r.addr, r.key, ctx)
	case write:
		return e.ep.Write(r.buf, 0, to, r.addr, r.key, ctx)
	}
	return core.ErrNoSys
}

// do executes a call.
func (e *Endpoint) do(ctx context.Context, r *request) (Received, error) {
	name := verbNames[r.verb]
	if err := e.enter(name); err != nil {
		return Received{From: AnyPeer}, err
	}
	defer e.calls.Done()
	h := &e.base.hub
	o, err := h.get(e)
	if err != nil {
		return Received{From: AnyPeer}, e.opError(name, r.peer, err, "the completion queue failed")
	}
	defer h.put(o)
	if err := e.begin(ctx, r, o); err != nil {
		if err == io.EOF {
			return Received{From: AnyPeer}, err
		}
		return Received{From: AnyPeer}, e.opError(name, r.peer, err, "")
	}
	why := h.wait(ctx, o)
	if why != nil {
		e.giveUp(r, o)
	}
	got := Received{Len: o.entry.Len, Tag: o.entry.Tag, Data: o.entry.Data, HasData: o.entry.Flags&core.CompRemoteCQData != 0, From: Peer(o.src)}
	switch {
	case o.err == nil:
		return got, nil
	case o.err == core.ErrCanceled && why != nil:
		return got, e.opError(name, r.peer, ended(why), o.text)
	// The provider, or look, has flushed what was posted when the connection ended.
	case o.err == core.ErrCanceled && e.eq != nil && e.isOpen():
		if o.err, o.text = e.endOf(r.verb), ""; o.err == io.EOF {
			return got, io.EOF
		}
	}
	return got, e.failure(name, r.peer, o)
}

// enter counts a call. calls.Done ends it.
func (e *Endpoint) enter(name string) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.usable(name); err != nil {
		return err
	}
	e.calls.Add(1)
	return nil
}

// begin posts. It tries again while the provider is busy.
func (e *Endpoint) begin(ctx context.Context, r *request, o *op) error {
	for tries := 0; ; tries++ {
		if ctx.Err() != nil {
			return ended(context.Cause(ctx))
		}
		e.mu.RLock()
		var err error
		switch {
		case e.closed:
			err = core.ErrShutdown
		case e.lost.Load() && !r.verb.receives(), tries > 8 && e.eq != nil && e.ended():
			err = e.endOf(r.verb)
		default: // a receive may find a message that came before the end
			o.recv = r.verb.receives()
			if err = e.post(r, o.context()); e.eq != nil && (err == core.ErrNotConn || err == core.ErrShutdown) {
				err = e.endOf(r.verb) // the provider noticed the end first
			}
		}
		e.mu.RUnlock()
		if err != core.ErrAgain {
			return err
		}
		e.base.hub.pass()
		// Other calls make progress, or a connection is being made, so a short sleep costs no time.
		if tries > 8 {
			time.Sleep(min(time.Duration(tries)*10*time.Microsecond, time.Millisecond))
		}
	}
}

// giveUp ends an operation whose caller no longer waits. On return the operation is done, and the caller owns its
// buffer.
func (e *Endpoint) giveUp(r *request, o *op) {
	e.mu.RLock()
	if !e.closed {
		e.cancel(o)
	}
	e.mu.RUnlock()
	if e.waitFor(o) {
		return
	}
	if e.breakOff(r.peer) && e.waitFor(o) {
		return
	}
	e.abort()
	e.stop()
	e.base.hub.wait(context.Background(), o)
}

// disconnecter is the driver of an endpoint that can break the connection with one peer and keep the others. RDM
// endpoints may have it.
type disconnecter interface{ Disconnect(peer core.FIAddr) error }

// breakOff breaks the connection in which a transfer is stuck, and reports whether that was possible.
func (e *Endpoint) breakOff(p Peer) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return false
	}
	if e.eq != nil {
		e.abort()
		return e.ep.Shutdown() == nil
	}
	d, ok := e.ep.Driver().(disconnecter)
	return ok && p != AnyPeer && d.Disconnect(core.FIAddr(p)) == nil
}

// cancel cancels o if possible. It is called with mu held for reading.
func (e *Endpoint) cancel(o *op) {
	// An error means that there is nothing to cancel: the operation is in progress or done.
	if e.srx == nil || e.srx.Cancel(o.context()) != nil {
		e.ep.Cancel(o.context())
	}
}

// abort makes Shutdown and Close return without delivery, because the peer does not receive.
func (e *Endpoint) abort() {
	e.ep.SetOpt(core.OptLinger, 0) // an endpoint without this option does not wait
}

// endOf returns the error of a call of a connected endpoint whose connection has ended. It is io.EOF if the peer has
// closed the connection, or its direction of it, in order, and there is nothing left to receive.
func (e *Endpoint) endOf(v verb) error {
	switch {
	case e.peerClosed() && v.receives():
		return io.EOF
	case e.silent.Load() || e.peerClosed():
		return core.ErrShutdown
	}
	return core.ErrConnReset
}

// peerClosed reports whether the peer has announced that it sends no more.
func (e *Endpoint) peerClosed() bool {
	return e.ep.PeerClosed()
}

func (e *Endpoint) isOpen() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return !e.closed
}

// waitFor reports whether o has completed within CancelGrace.
func (e *Endpoint) waitFor(o *op) bool {
	ctx, cancel := context.WithTimeout(context.Background(), e.grace)
	defer cancel()
	return e.base.hub.wait(ctx, o) == nil
}
