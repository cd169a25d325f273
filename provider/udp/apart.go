package udp

import (
	"syscall"

	"gofabric/core"
	"gofabric/internal/netx"
)

// sendApart sends a run that the system does not take as one, as many datagrams at a time as the link does; what follows one that fails is lost. That
// includes a socket that is full, unless nothing was sent: the caller would send the first ones again.
func (p *port) sendApart(parts [][]byte, total, seg int) error {
	r := apart{p: p, b: p.d.burst(), cut: cutter{parts: parts}, seg: seg, left: total}
	var err error
	for err == nil && r.left > 0 {
		err = r.send()
	}
	if r.fragments {
		netx.SetFragment(p.main.fd, p.family, false)
	}
	r.b.Reset() // parts are the caller's again
	if r.left > 0 && err != core.ErrAgain {
		p.stats.SendErrors += uint64((r.left + seg - 1) / seg)
	}
	return err
}

// apart is a run on its way.
type apart struct {
	p         *port
	b         *netx.Burst
	cut       cutter
	seg, left int  // bytes of a datagram; bytes that are not sent
	begun     bool // some are
	told      bool // the send before failed with the error of another datagram
	fragments bool // what is too long for the path is fragmented
}

// send sends some datagrams; nil if the next may be tried.
func (r *apart) send() error {
	p := r.p
	if r.b.Len() == 0 && !r.cut.fill(r.b, r.left, r.seg) {
		return core.Err2Big
	}
	n, errno := p.main.link.sendBurst(&p.to, r.b)
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
		if p.icmp++; !r.told { // it is about an earlier datagram: this one was not tried
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

// cutter cuts a list of parts into datagrams.
type cutter struct {
	head  []byte // what is left of the part before parts
	parts [][]byte
}

// fill puts as many datagrams of seg bytes, of total bytes together, into b as have room. It is false when not even one has.
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
