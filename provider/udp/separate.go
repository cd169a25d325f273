// Runs as separate datagrams. A kernel, device or path may refuse UDP_SEGMENT (udp(7)) for a run or for all. The
// caller of Send does not notice: its run leaves as a list of datagrams (sendmmsg(2)), or one by one.

package udp

import (
	"syscall"

	"gofabric/core"
	"gofabric/internal/netx"
)

// sendSeparately sends a run as separate datagrams, as many per call as the datapath can, when the system does not
// take the run as one. Datagrams after one that fails are lost. This includes a full socket once some are sent:
// with core.ErrAgain the caller would send the first ones again.
func (p *port) sendSeparately(parts [][]byte, total, seg int) error {
	r := separateSend{p: p, b: p.d.burst(), cut: cutter{parts: parts}, seg: seg, left: total}
	var err error
	for err == nil && r.left > 0 {
		err = r.send()
	}
	if r.fragments {
		netx.SetFragment(p.main.fd, p.family, false)
	}
	r.b.Reset() // drops the references to the caller's parts
	if r.left > 0 && err != core.ErrAgain {
		p.stats.SendErrors += uint64((r.left + seg - 1) / seg)
	}
	return err
}

// separateSend is the progress of a run that is sent as separate datagrams.
type separateSend struct {
	p         *port
	b         *netx.Burst
	cut       cutter
	seg, left int  // bytes of a datagram; bytes not sent yet
	begun     bool // some are sent
	told      bool // the previous send failed with the error of an earlier datagram
	fragments bool // datagrams longer than the path allows are fragmented
}

// send sends some datagrams. It returns nil if the caller may try the next ones.
func (r *separateSend) send() error {
	p := r.p
	if r.b.Len() == 0 && !r.cut.fill(r.b, r.left, r.seg) {
		return core.Err2Big
	}
	n, errno := p.main.datapath.sendBurst(&p.to, r.b)
	if n > 0 {
		bytes := min(n*r.seg, r.left)
		r.left -= bytes
		r.begun, r.told = true, false
		p.stats.SentDatagrams += uint64(n)
		p.stats.SentBytes += uint64(bytes)
		p.reports = p.reports || r.b.Stopped()
		return nil
	}
	switch errno {
	case syscall.ECONNREFUSED:
		if p.icmp++; !r.told { // the error is about an earlier datagram: this one was not tried
			p.reports, r.told = true, true
			return nil
		}
	case syscall.EMSGSIZE:
		p.tooLong()
		if r.seg <= p.d.s.mtu && !r.fragments {
			netx.SetFragment(p.main.fd, p.family, true)
			r.fragments = true
			return nil
		}
	case syscall.EAGAIN:
		if p.block(); !r.begun {
			return core.ErrAgain
		}
		return core.ErrNoBufs
	}
	return core.FromSyscall(errno)
}

// cutter splits a list of parts into datagrams.
type cutter struct {
	head  []byte // the rest of the part before parts
	parts [][]byte
}

// fill puts datagrams of seg bytes, of total bytes together, into b until it is full. It returns false if there is
// no room for one.
func (c *cutter) fill(b *netx.Burst, total, seg int) bool {
	b.Reset()
	for more := true; more && total > 0; {
		size := min(seg, total)
		before := *c
		if !c.one(b, size) {
			*c = before
			b.Cut()
			break
		}
		more = b.End()
		total -= size
	}
	return b.Len() > 0
}

// one adds the buffers of a datagram of size bytes.
func (c *cutter) one(b *netx.Burst, size int) bool {
	for size > 0 {
		if len(c.head) == 0 {
			c.head, c.parts = c.parts[0], c.parts[1:]
			continue
		}
		n := min(size, len(c.head))
		if !b.Append(c.head[:n]) {
			return false
		}
		c.head, size = c.head[n:], size-n
	}
	return true
}
