package udp

import (
	"fmt"
	"syscall"

	"gofabric/internal/netx"
)

// batchDatapath passes many datagrams with one call, where the system can. Equal datagrams to or from one peer pass as
// one run (UDP_SEGMENT, UDP_GRO, udp(7)), others as a list (recvmmsg(2), sendmmsg(2)). While datagrams come one by
// one it receives as a plainDatapath does, at the least cost.
type batchDatapath struct {
	plainDatapath
	runs   int  // most datagrams in a run that the system sends
	mayGRO bool // runs may be received whole, from the first flood on
	gro    bool // runs are received whole
}

func (l *batchDatapath) receive(many bool) (got []netx.Datagram, last bool, err syscall.Errno) {
	switch {
	case many:
		b := l.d.batch()
		n, err := netx.RecvBatch(l.fd, b)
		return b.D[:n], netx.Batches && n < batchSize/2, err // a nearly full batch: the next pass receives again
	case l.gro:
		err = netx.RecvFrom(l.fd, &l.d.in[0])
	default:
		err = netx.RecvPlain(l.fd, &l.d.in[0])
	}
	return l.d.in[:], false, err
}

// flood switches GRO on. It stays on: if it were switched off, the last run received before could not be recognized
// as one.
func (l *batchDatapath) flood() {
	if l.mayGRO && !l.gro {
		l.gro = netx.SetGRO(l.fd, true) == nil
		l.mayGRO = l.gro
	}
}

func (l *batchDatapath) segments() int { return l.runs }

func (l *batchDatapath) sendList(to *netx.SockAddr, v *netx.IOV, seg int) syscall.Errno {
	return netx.SendToV(l.fd, to, v, seg)
}

func (l *batchDatapath) sendBurst(to *netx.SockAddr, b *netx.Burst) (int, syscall.Errno) {
	return netx.SendBurst(l.fd, to, b, batchSize)
}

func (l *batchDatapath) String() string {
	gro := "off"
	switch {
	case l.gro:
		gro = "on"
	case l.mayGRO:
		gro = "after a burst"
	}
	if !netx.Batches {
		return "batches, as far as the system goes"
	}
	return fmt.Sprintf("batches, GRO %s", gro)
}
