// Sends: one datagram, or a run, by way of shared memory, AF_XDP or the socket, in this order of preference.

package udp

import (
	"net/netip"
	"syscall"

	"gofabric/core"
	"gofabric/internal/netx"
)

// Send implements datagram.Port. A datagram of up to FI_UDP_MTU bytes, which DGRAM endpoints promise, is fragmented
// if the path does not take it in one piece, as native's are. A longer one fails with core.ErrMsgSize.
func (p *port) Send(dest netip.AddrPort, parts [][]byte, seg int) error {
	if p.closed {
		return core.ErrOpBadState
	}
	if p.blocked {
		return core.ErrAgain
	}
	if p.xdp != nil && p.sendXDP(dest, parts, seg) {
		return nil
	}
	if p.sameHost != nil {
		return p.sameHost.send(dest, parts, seg)
	}
	return p.sendOut(dest, parts, seg)
}

// Expect implements datagram.Expecter.
func (p *port) Expect(dest netip.AddrPort) {
	if p.xdp != nil && !p.closed {
		p.xdp.expect(dest)
	}
}

// sendOut is Send through the socket.
func (p *port) sendOut(dest netip.AddrPort, parts [][]byte, seg int) error {
	if dest != p.dest {
		if err := p.aim(dest); err != nil {
			p.stats.SendErrors++
			return err
		}
	}
	total := 0
	for _, b := range parts {
		total += len(b)
	}
	count := 1
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	}
	if total > netx.MaxDatagram || seg < 0 || p.segments > 1 && count > p.segments {
		p.stats.SendErrors += uint64(count)
		return core.ErrMsgSize
	}
	if count == 1 && len(parts) == 1 {
		return p.outcome(p.main.datapath.send(&p.to, parts[0]), parts[0], nil, total)
	}
	err := p.sendParts(parts, total, seg, count)
	p.d.out.Reset() // drops the references to the caller's parts
	return err
}

// sendXDP sends past the kernel's stack, if that is possible. It reports whether it did.
func (p *port) sendXDP(dest netip.AddrPort, parts [][]byte, seg int) bool {
	total, count := 0, 1
	for _, b := range parts {
		total += len(b)
	}
	if seg > 0 && seg < total {
		count = (total + seg - 1) / seg
	}
	if seg < 0 || total > netx.MaxDatagram || !p.xdp.sendXDP(dest, parts, total, seg) {
		return false
	}
	p.stats.SentDatagrams += uint64(count)
	p.stats.SentBytes += uint64(total)
	return true
}

// shortRun is the payload, in bytes, up to which the datagrams of a run are sent one by one. To a receiver with
// AF_XDP in generic mode such a run would look like one datagram of its MTU (internal/xdp, runMin). Layers make
// datagrams as long as the path takes, so such runs are rare.
const shortRun = 1472

// sendParts sends datagrams from several parts, or several datagrams.
func (p *port) sendParts(parts [][]byte, total, seg, count int) error {
	if count == 1 {
		return p.sendOne(parts, total)
	}
	if p.segments > 1 && total > shortRun {
		if err, done := p.sendRun(parts, total, seg, count); done {
			return err
		}
	}
	return p.sendSeparately(parts, total, seg)
}

// aim sets dest as the address of the next sends.
func (p *port) aim(dest netip.AddrPort) error {
	p.dest = netip.AddrPort{}
	scope, err := p.zones.scope(dest.Addr())
	if err == nil {
		err = p.to.Set(dest, p.family, scope)
	}
	if err != nil {
		return core.FromSyscall(err.(syscall.Errno))
	}
	p.dest = dest
	return nil
}

// sendOne sends parts as one datagram.
func (p *port) sendOne(parts [][]byte, total int) error {
	v := p.d.out
	for _, b := range parts {
		if !v.Append(b) {
			p.stats.SendErrors++
			return core.Err2Big
		}
	}
	return p.sendList(v, total)
}

// sendList sends the buffers of v as one datagram.
func (p *port) sendList(v *netx.IOV, total int) error {
	return p.outcome(p.main.datapath.sendList(&p.to, v, 0), nil, v, total)
}

// outcome counts a datagram, and sends it once more where the error was not about it or fragmenting helps.
func (p *port) outcome(errno syscall.Errno, b []byte, v *netx.IOV, total int) error {
	again := func() syscall.Errno {
		if v != nil {
			return p.main.datapath.sendList(&p.to, v, 0)
		}
		return p.main.datapath.send(&p.to, b)
	}
	if errno == syscall.ECONNREFUSED {
		p.icmp++ // about an earlier datagram: this one was not tried
		p.reports = true
		errno = again()
	}
	if errno == syscall.EMSGSIZE {
		p.tooLong()
		if total <= p.d.s.mtu {
			netx.SetFragment(p.main.fd, p.family, true)
			errno = again()
			netx.SetFragment(p.main.fd, p.family, false)
		}
	}
	switch errno {
	case 0:
		p.stats.SentDatagrams++
		p.stats.SentBytes += uint64(total)
		return nil
	case syscall.EAGAIN:
		p.block()
		return core.ErrAgain
	}
	p.stats.SendErrors++
	return core.FromSyscall(errno)
}

// sendRun passes a run to the system. done is false if the system takes no runs, or not this one: the caller then
// sends the datagrams separately.
func (p *port) sendRun(parts [][]byte, total, seg, count int) (err error, done bool) {
	v := p.d.out
	for _, b := range parts {
		if !v.Append(b) {
			return nil, false
		}
	}
	errno := p.main.datapath.sendList(&p.to, v, seg)
	if errno == syscall.ECONNREFUSED {
		p.icmp++
		p.reports = true
		errno = p.main.datapath.sendList(&p.to, v, seg)
	}
	switch {
	case errno == 0:
		p.stats.SentDatagrams += uint64(count)
		p.stats.SentBytes += uint64(total)
		return nil, true
	case errno == syscall.EAGAIN:
		p.block()
		return core.ErrAgain, true
	case errno == syscall.EMSGSIZE:
		return nil, false
	case !refusesRuns(errno):
		p.stats.SendErrors += uint64(count)
		return core.FromSyscall(errno), true
	}
	if err = p.sendSeparately(parts, total, seg); err == nil && seg <= p.MaxDatagram(p.dest) {
		p.segments, p.gsoOff = 1, errno
	}
	return err, true
}

// refusesRuns reports whether an error means that the device, or a policy on the path, does not support runs
// (udp(7), UDP_SEGMENT). It may also mean that the datagrams are too long for the path.
func refusesRuns(errno syscall.Errno) bool {
	return errno == syscall.EIO || errno == syscall.EINVAL || errno == syscall.EOPNOTSUPP || errno == syscall.ENOTSUP || errno == syscall.ENOPROTOOPT
}

// errorsAtOnce bounds the reported errors that one call of tellErrors passes on.
const errorsAtOnce = 64

// tellErrors reports to the receiver the datagrams that the network could not deliver, according to ICMP.
func (p *port) tellErrors() {
	p.reports = false
	for range errorsAtOnce {
		if p.closed {
			return
		}
		dest, errno, ok := netx.ReadError(p.main.fd)
		if !ok {
			return
		}
		if p.refuse != nil && dest.IsValid() && errno != 0 {
			p.refuse.Refused(dest, core.FromSyscall(errno))
		}
	}
	p.reports = true
}
