package udp

import (
	"fmt"

	"gofabric/internal/mono"
	"gofabric/internal/netx"
)

// asideEvery is how many runs are received between two reports of them, each with a look at the clock.
const asideEvery = 8

// largeMin is the length from which what the socket receives in one piece is a part of a large message.
const largeMin = 4096

// inflow is what came since the interface was last told, for its program to step aside while large messages come (xdp.Interface.Came).
type inflow struct {
	on                   bool // it is told
	bytes, runs, singles int
	bypassed             uint64 // xdpLink.received at the last report
	steps                uint64 // times that the program stepped aside on this link's word
}

// notice counts what came by the socket.
func (l *xdpLink) notice(got []netx.Datagram) {
	f := &l.flow
	for i := range got {
		if got[i].N < largeMin {
			f.singles++
			continue
		}
		f.runs++
		f.bytes += got[i].N
	}
	if f.runs < asideEvery {
		return
	}
	f.singles += int(l.received - f.bypassed)
	if l.iface.Came(mono.Now(), f.bytes, f.runs, f.singles) {
		f.steps++
	}
	*f = inflow{on: true, bypassed: l.received, steps: f.steps}
}

// insist implements expressLink.
func (l *xdpLink) insist(on bool) {
	l.insists = on
	l.flow = inflow{on: !on && l.d.s.xdpAside && l.iface.MayStep(), bypassed: l.received, steps: l.flow.steps}
	l.port.Stay(!l.flow.on)
	if l.flow.on {
		l.iface.PrepareSteps()
	}
}

// stepped says what the program did.
func (l *xdpLink) stepped() string {
	switch {
	case l.iface.Aside():
		return fmt.Sprintf(", stepped aside %d times for large messages, and is aside", l.iface.Steps())
	case l.iface.Steps() > 0:
		return fmt.Sprintf(", stepped aside %d times for large messages", l.iface.Steps())
	}
	return ""
}

// lost is told that the program cannot come back: all goes through the socket.
func (l *xdpLink) lost(why error) {
	l.d.prog.Lock()
	defer l.d.prog.Unlock()
	if l.port != nil {
		l.becomeGone(fmt.Errorf("its program had stepped aside for large messages: %w", why))
	}
}
