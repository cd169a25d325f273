package udp

import (
	"fmt"
	"net/netip"

	"gofabric/internal/xdp"
)

// explainXDP describes the AF_XDP datapath that an endpoint with this address would have. If it would have none, it
// returns the reason, as far as that is known without opening a datapath.
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

// usageText describes how an interface is used, or would be.
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

// costText describes the cost of the program for other traffic of the interface (docs/af-xdp-measurements.md).
func costText(p xdp.Usage, veth bool) string {
	const (
		begin   = "while AF_XDP is used, the XDP program also sees all other traffic that the interface receives"
		generic = ", and the kernel copies it once more for that"
	)
	switch {
	case veth && p.Mode == xdp.Generic:
		return begin + generic + " (tcp over veth: 1.1 times the processor time for small messages, 1.3 times for large ones)"
	case veth && p.Mode == xdp.Driver:
		return begin + ", and the driver copies it and splits large packets for that (tcp over veth: 1.2 times the processor time for small messages, 5 times for large ones)"
	case p.Mode == xdp.Generic:
		return begin + generic
	case p.Mode == xdp.Auto:
		return begin + generic + " in generic mode"
	}
	return begin
}

// singleText describes how single datagrams leave.
func singleText(p xdp.Usage) string {
	if p.PacketSocket != nil {
		return "single datagrams are sent through AF_XDP's rings: " + p.PacketSocket.Error()
	}
	return "single datagrams are sent through a packet socket"
}

// busyText describes whether a receive polls the driver.
func busyText(p xdp.Usage) string {
	switch {
	case p.BusyPoll != nil:
		return "no busy polling: " + p.BusyPoll.Error()
	case p.Mode == xdp.Auto:
		return "busy polling in driver mode"
	}
	return "busy polling"
}
