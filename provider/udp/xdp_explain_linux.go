package udp

import (
	"fmt"
	"net/netip"

	"gofabric/internal/xdp"
)

// explainXDP says how the AF_XDP link of an endpoint with this address would be, or why it would have none, as far as can be told without one.
func explainXDP(local netip.Addr, s *settings) (how string, err error) {
	ifc, err := xdpInterface(local, interfaceOf(local))
	if err != nil {
		return "", err
	}
	name, _, err := s.xdpBelow(ifc)
	if err != nil {
		return "", err
	}
	p, err := xdp.Inspect(name, s.xdpConfig(name))
	if err != nil {
		return "", err
	}
	return s.usageText(p, isVeth(name)), nil
}

// usageText says how an interface is used, or would be.
func (s *settings) usageText(p xdp.Usage, veth bool) (how string) {
	if how = fmt.Sprintf("in %v mode", p.Mode); p.Mode == xdp.Auto {
		how = "in driver mode if the driver can"
	}
	if s.xdpBusy > 0 {
		how += "; " + busyText(p)
	}
	how += "; " + singleText(p)
	if p.PacketSocket == nil && !p.Open && !veth {
		how += ", unless the driver has zero-copy"
	}
	return how + "; " + costText(p, veth)
}

// costText says what the program costs whatever else comes over the interface, as long as an endpoint has it attached. docs/af-xdp.md has the measurement.
func costText(p xdp.Usage, veth bool) string {
	const (
		begin   = "meanwhile what others receive over the interface passes its program"
		generic = ", for which the system copies it once more"
	)
	switch {
	case veth && p.Mode == xdp.Generic:
		return begin + generic + " (tcp over veth: 1.1 times the processor time for small messages, 1.3 times for large ones)"
	case veth && p.Mode == xdp.Driver:
		return begin + ", for which the driver copies it and takes large packets apart (tcp over veth: 1.2 times the processor time for small messages, 5 times for large ones)"
	case p.Mode == xdp.Generic:
		return begin + generic
	case p.Mode == xdp.Auto:
		return begin + generic + " in generic mode"
	}
	return begin
}

// singleText says which way datagrams go that leave alone.
func singleText(p xdp.Usage) string {
	if p.PacketSocket != nil {
		return "single datagrams leave by AF_XDP's rings: " + p.PacketSocket.Error()
	}
	return "single datagrams leave by a packet socket"
}

// busyText says whether receiving makes the driver look for what has come.
func busyText(p xdp.Usage) string {
	switch {
	case p.BusyPoll != nil:
		return "no busy polling: " + p.BusyPoll.Error()
	case p.Mode == xdp.Auto:
		return "busy polling in driver mode"
	}
	return "busy polling"
}
