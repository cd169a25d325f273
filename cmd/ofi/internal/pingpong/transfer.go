package pingpong

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"gofabric/core"
)

// This file is the measured part. Its loops do not allocate. They read the clock once in slowEvery reads of an
// empty queue.

var lastMessage = []byte("fin\x00")

// pingpong runs all iterations of one size.
func (b *bench) pingpong(size int) (Result, error) {
	client := b.cfg.isClient()
	b.acks = 0
	if err := b.ctl.sync(client); err != nil {
		return Result{}, err
	}
	inject := size < b.info.Tx.InjectSize
	start := time.Now()
	for range b.cfg.Iterations {
		if !client {
			if err := b.receive(size); err != nil {
				return Result{}, err
			}
		}
		if err := b.transmit(size, inject); err != nil {
			return Result{}, err
		}
		if client {
			if err := b.receive(size); err != nil {
				return Result{}, err
			}
		}
	}
	elapsed := time.Since(start)
	acks, err := b.ctl.exchangeCount(client, b.acks)
	if err != nil {
		return Result{}, err
	}
	return Result{Size: size, Sent: b.cfg.Iterations, Acked: acks, Elapsed: elapsed}, nil
}

// transmit sends one message and waits until it completed.
func (b *bench) transmit(size int, inject bool) error {
	if b.cfg.Check {
		b.filled.fill(b.tx[:size])
	}
	buf := b.txBuf[:size+b.txPrefix]
	err := b.sendOnce(buf, inject)
	if err == core.ErrAgain {
		err = b.spinPost(b.txCQ, func() error { return b.sendOnce(buf, inject) })
	}
	if err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	if inject {
		return nil
	}
	b.txSeq++
	return b.await(b.txCQ, &b.txDone, b.txSeq, "the message to be sent")
}

func (b *bench) sendOnce(buf []byte, inject bool) error {
	switch {
	case inject && b.tagged:
		return b.ep.TInject(buf, b.peer, tag)
	case inject:
		return b.ep.Inject(buf, b.peer)
	case b.tagged:
		return b.ep.TSend(buf, b.desc, b.peer, tag, 0)
	}
	return b.ep.Send(buf, b.desc, b.peer, 0)
}

// receive waits for the next message, checks it and posts the receive for the one after it.
func (b *bench) receive(size int) error {
	if err := b.await(b.rxCQ, &b.rxDone, b.rxSeq, "the peer's message"); err != nil {
		return err
	}
	if b.cfg.Check {
		if err := b.check.check(b.rx[:size]); err != nil {
			return err
		}
	}
	if err := b.postRecv(); err != nil {
		return err
	}
	b.acks++
	return nil
}

// postRecv posts a receive that has room for any message of the run.
func (b *bench) postRecv() error {
	err := b.recvOnce()
	if err == core.ErrAgain {
		err = b.spinPost(b.rxCQ, b.recvOnce)
	}
	if err != nil {
		return fmt.Errorf("posting a receive: %w", err)
	}
	b.rxSeq++
	return nil
}

func (b *bench) recvOnce() error {
	if b.tagged {
		return b.ep.TRecv(b.rxBuf, b.desc, core.AddrUnspec, tag, 0, 0)
	}
	return b.ep.Recv(b.rxBuf, b.desc, core.AddrUnspec, 0)
}

// spinPost repeats a post that the provider cannot take yet. A read with no room makes progress and takes no
// completion.
func (b *bench) spinPost(cq *core.CompletionQueue, post func() error) error {
	var w watch
	for i := 1; ; i++ {
		err := post()
		if err != core.ErrAgain {
			return err
		}
		if _, err := cq.Read(nil); err != nil && err != core.ErrAgain {
			return b.readError(cq, err)
		}
		if i%slowEvery == 0 {
			if err := b.stalled(&w, "room to post"); err != nil {
				return err
			}
		}
	}
}

// await reads cq until total operations completed.
func (b *bench) await(cq *core.CompletionQueue, done *uint64, total uint64, what string) error {
	if *done >= total {
		return nil
	}
	var w watch
	for i := uint(1); ; i++ {
		n, err := cq.Read(b.entry[:])
		if n > 0 {
			if *done += uint64(n); *done >= total {
				return nil
			}
			continue
		}
		if err != nil && err != core.ErrAgain {
			return b.readError(cq, err)
		}
		if i%slowEvery == 0 {
			if err := b.stalled(&w, what); err != nil {
				return err
			}
		}
	}
}

// readError explains the error of a read of a completion queue.
func (b *bench) readError(cq *core.CompletionQueue, err error) error {
	if !errors.Is(err, core.ErrAvail) {
		return fmt.Errorf("reading completions: %w", err)
	}
	var e core.CQErrEntry
	if err := cq.ReadErr(&e); err != nil {
		return fmt.Errorf("reading the error completion: %w", err)
	}
	return b.failed(cq, &e)
}

// failed returns the error of a failed transfer.
func (b *bench) failed(cq *core.CompletionQueue, e *core.CQErrEntry) error {
	detail := e.Detail
	if detail == "" {
		detail = cq.StrError(e.ProvErrno)
	}
	if b.ctl.peerClosed() {
		return fmt.Errorf("%w (a transfer failed: %s: %w)", errPeerGone, detail, e.Err)
	}
	return fmt.Errorf("a transfer failed: %s: %w", detail, e.Err)
}

// finish exchanges the last message, which confirms that each end received everything, and ends the connection.
func (b *bench) finish() error {
	n := copy(b.txBuf[b.txPrefix:], lastMessage) + b.txPrefix
	iov := [][]byte{b.txBuf[:n]}
	var desc []core.Desc
	if b.mr != nil {
		desc = []core.Desc{b.desc}
	}
	err := b.spinPost(b.txCQ, func() error {
		if b.tagged {
			return b.ep.TSendMsg(&core.TaggedArgs{IOV: iov, Desc: desc, Addr: b.peer, Tag: tag}, core.OpTransmitComplete)
		}
		return b.ep.SendMsg(&core.MsgArgs{IOV: iov, Desc: desc, Addr: b.peer}, core.OpTransmitComplete)
	})
	if err != nil {
		return fmt.Errorf("sending the last message: %w", err)
	}
	b.txSeq++
	if err := b.await(b.txCQ, &b.txDone, b.txSeq, "the last message to be sent"); err != nil {
		return err
	}
	err = b.await(b.rxCQ, &b.rxDone, b.rxSeq, "the peer's last message")
	if b.info.EP.Type == core.EPTypeDgram && errors.Is(err, errPeerGone) {
		b.cfg.logf("the peer's last datagram was lost; it has finished")
		return nil
	}
	if err != nil {
		return err
	}
	if got := b.rxBuf[b.rxPrefix:]; b.cfg.Check && !bytes.HasPrefix(got, lastMessage) {
		return fmt.Errorf("data check failed: the last message begins with %q, expected %q", got[:len(lastMessage)], lastMessage)
	}
	if b.info.EP.Type == core.EPTypeMsg {
		// If the peer ended the connection first, there is nothing to end.
		if err := b.ep.Shutdown(); err != nil {
			b.cfg.logf("ending the connection: %v", err)
		}
	}
	return nil
}
