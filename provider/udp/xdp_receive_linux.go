package udp

import (
	"net/netip"
	"runtime"
	"syscall"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/frame"
)

func (l *xdpDatapath) wait() netx.FD { return l.port.FD() }

func (l *xdpDatapath) want(ev netx.Events) error {
	events := uint32(syscall.EPOLLIN)
	if ev&netx.Out != 0 {
		events |= syscall.EPOLLOUT
	}
	return l.port.WatchSocket(l.fd, events)
}

func (l *xdpDatapath) ready() { l.woken = true }

// direct implements datapath. While every pass receives, port.FD need not become readable, which would cost the sender
// time.
func (l *xdpDatapath) direct(on bool) error { return l.port.Watch(!on) }

func (l *xdpDatapath) receive(many bool) (got []netx.Datagram, last bool, err syscall.Errno) {
	l.release()
	if l.turns++; l.woken || l.socketTurns > 0 || l.turns%socketEvery == 0 {
		l.socketTurns = max(l.socketTurns-1, 0)
		if got, _, err = l.datapath.receive(many); err != syscall.EAGAIN {
			l.socketTurns = socketAgain
			return got, false, err
		}
	}
	if l.held = l.port.Receive(l.frames[:]); l.held > 0 {
		if got = l.parse(); len(got) > 0 {
			l.received += uint64(len(got))
			return got, l.held < xdpFrames/2, 0
		}
		l.release()
	}
	if l.woken && !l.ended && l.iface.Err() != nil {
		l.giveUp(errXDPRemoved)
	}
	l.woken = false
	return nil, true, syscall.EAGAIN
}

// drain implements bypassDatapath. Ports that are receiving now have a short time to append packets of this one to its
// backlog.
func (l *xdpDatapath) drain() []netx.Datagram {
	l.release()
	if l.port == nil || l.port.Stop() != nil {
		return nil
	}
	for range drainTries {
		if l.held = l.port.Receive(l.frames[:]); l.held > 0 {
			if got := l.parse(); len(got) > 0 {
				l.received += uint64(len(got))
				return got
			}
			l.release()
		} else if l.port.Empty() {
			break
		} else {
			runtime.Gosched()
		}
	}
	return nil
}

// giveUp leaves all datagrams to the socket from now on. The interface was removed, and its descriptor stays
// readable, or no more frames come from it.
func (l *xdpDatapath) giveUp(why error) {
	if l.ended {
		return
	}
	l.ended = true
	l.port.SetPassive(true)
	l.d.prog.After(mono.Now(), func(mono.Time) { // later, as a receive may be using the datapath now
		if l.port != nil {
			l.onEnd(why)
		}
	})
}

// release returns the frames of the last receive.
func (l *xdpDatapath) release() {
	if l.held > 0 {
		l.port.Release(l.frames[:l.held])
		l.held = 0
	}
}

// parse makes datagrams of the held frames.
func (l *xdpDatapath) parse() []netx.Datagram {
	n, used := 0, 0
	for i := 0; i < l.held; {
		first := i
		for l.frames[i].More {
			i++
		}
		i++
		m := &l.got[n]
		var why frame.Reason
		if first+1 == i {
			why = l.rules.Parse(&l.dgram, l.frames[first].Data)
			m.Buf = l.dgram.Payload
		} else {
			why, used = l.join(l.frames[first:i], m, used)
		}
		if why == frame.Accepted && (l.dgram.Cast != frame.Unicast || l.dgram.Link != frame.Unicast) {
			why = frame.Destination
		}
		if why != frame.Accepted {
			l.refused[why]++
			continue
		}
		m.N, m.Seg, m.Truncated = l.dgram.Len, 0, false
		if m.From.Set(l.dgram.Src, netx.Family(l.dgram.Src.Addr()), l.scope(l.dgram.Src.Addr())) == nil {
			n++
		}
	}
	return l.got[:n]
}

// scope returns the interface index of a link-local address, 0 for others.
func (l *xdpDatapath) scope(a netip.Addr) uint32 {
	if a.Is6() && a.IsLinkLocalUnicast() {
		return uint32(l.index)
	}
	return 0
}

// join joins the frames of one datagram.
func (l *xdpDatapath) join(f []xdp.Frame, m *netx.Datagram, used int) (frame.Reason, int) {
	if l.joined == nil {
		l.joined = make([]byte, joinedBytes)
	}
	l.parts = l.parts[:0]
	for i := range f {
		l.parts = append(l.parts, f[i].Data)
	}
	why := l.rules.ParseList(&l.dgram, l.parts)
	if why != frame.Accepted {
		return why, used
	}
	whole := len(l.parts)
	l.parts = l.dgram.AppendParts(l.parts, l.parts)
	at := used
	for _, b := range l.parts[whole:] {
		used += copy(l.joined[used:], b)
	}
	m.Buf = l.joined[at:used]
	return why, used
}
