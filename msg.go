package gofabric

import (
	"context"
	"iter"
)

// This file has messages (fi_msg(3)) and tagged messages (fi_tagged(3)).

// Received describes a message that was received.
type Received struct {
	Len     int    // bytes
	Tag     uint64 // of a tagged message
	Data    uint64 // the sender's data, if HasData (FI_REMOTE_CQ_DATA)
	HasData bool
	From    Peer // the sender; AnyPeer if it is not in the address vector, or the provider cannot tell
}

// Send sends buf as one message (fi_send(3)). When it returns, buf may be used again.
func (e *Endpoint) Send(ctx context.Context, to Peer, buf []byte) error {
	_, err := e.do(ctx, &request{verb: send, peer: to, buf: buf})
	return err
}

// SendData is Send with 64 bits of data that the receiver gets with the message, in Received.Data (fi_senddata(3)).
func (e *Endpoint) SendData(ctx context.Context, to Peer, buf []byte, data uint64) error {
	_, err := e.do(ctx, &request{verb: sendData, peer: to, buf: buf, data: data})
	return err
}

// Recv receives one message into buf (fi_recv(3)). from is AnyPeer, or the only sender to receive from; the latter
// needs core.CapDirectedRecv. If the message is longer than buf, buf has its first part and the error is
// core.ErrTrunc.
func (e *Endpoint) Recv(ctx context.Context, from Peer, buf []byte) (Received, error) {
	return e.do(ctx, &request{verb: recv, peer: from, buf: buf})
}

// TSend sends buf as one message with a tag (fi_tsend(3)). When it returns, buf may be used again.
func (e *Endpoint) TSend(ctx context.Context, to Peer, buf []byte, tag uint64) error {
	_, err := e.do(ctx, &request{verb: tsend, peer: to, buf: buf, tag: tag})
	return err
}

// TSendData is TSend with 64 bits of data that the receiver gets with the message, in Received.Data
// (fi_tsenddata(3)).
func (e *Endpoint) TSendData(ctx context.Context, to Peer, buf []byte, tag, data uint64) error {
	_, err := e.do(ctx, &request{verb: tsendData, peer: to, buf: buf, tag: tag, data: data})
	return err
}

// TRecv receives one message whose tag equals tag in all bits that are not set in ignore (fi_trecv(3)). Otherwise it
// is Recv.
func (e *Endpoint) TRecv(ctx context.Context, from Peer, buf []byte, tag, ignore uint64) (Received, error) {
	return e.do(ctx, &request{verb: trecv, peer: from, buf: buf, tag: tag, ignore: ignore})
}

// Messages receives one message after another into buf, until ctx ends or a receive fails. The last pair then has the
// error. buf[:Len] is the message until the loop asks for the next one.
func (e *Endpoint) Messages(ctx context.Context, from Peer, buf []byte) iter.Seq2[Received, error] {
	return func(yield func(Received, error) bool) {
		for {
			r, err := e.Recv(ctx, from, buf)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
