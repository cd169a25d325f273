//go:build linux

package udp

import (
	"errors"
	"strings"
	"testing"

	"gofabric/internal/xdp"
)

// TestXDPUsageText: the text about an interface says no more than is known. The tests in test/netns check that it
// is true.
func TestXDPUsageText(t *testing.T) {
	const (
		sock  = "; single datagrams are sent through a packet socket"
		ring  = "; single datagrams are sent through AF_XDP's rings: some reason"
		other = "; while AF_XDP is used, the XDP program also sees all other traffic that the interface receives"
	)
	costs := []string{", and the kernel copies it once more for that (tcp over veth: 1.1 times the processor time for small messages, 1.3 times for large ones)",
		", and the kernel copies it once more for that", ", and the kernel copies it once more for that", ", and the kernel copies it once more for that in generic mode", "",
		", and the driver copies it and splits large packets for that (tcp over veth: 1.2 times the processor time for small messages, 5 times for large ones)"}
	why := errors.New("some reason")
	for n, tt := range []struct {
		p    xdp.Usage
		veth bool
		want string
	}{
		{xdp.Usage{Mode: xdp.Generic}, true, "in generic mode" + sock},
		{xdp.Usage{Mode: xdp.Generic}, false, "in generic mode" + sock + ", unless the driver has zero-copy"},
		{xdp.Usage{Mode: xdp.Generic, Open: true}, false, "in generic mode" + sock},
		{xdp.Usage{Mode: xdp.Auto, PacketSocket: why}, false, "in driver mode if the driver can" + ring},
		{xdp.Usage{Mode: xdp.Driver, Open: true, PacketSocket: why}, false, "in driver mode" + ring},
		{xdp.Usage{Mode: xdp.Driver, Open: true, PacketSocket: why}, true, "in driver mode" + ring},
	} {
		want := tt.want + other + costs[n]
		if got := (&settings{link: linkXDP}).usageText(tt.p, tt.veth); got != want {
			t.Errorf("%+v:\n%s, want\n%s", tt.p, got, want)
		}
	}
}

// TestXDPBusyText: busy polling is mentioned if it was asked for.
func TestXDPBusyText(t *testing.T) {
	const other = "; while AF_XDP is used, the XDP program also sees all other traffic that the interface receives"
	for want, p := range map[string]xdp.Usage{
		"in driver mode if the driver can; busy polling in driver mode; single datagrams are sent through a packet socket": {Mode: xdp.Auto},
		"in driver mode; busy polling; single datagrams are sent through a packet socket":                                  {Mode: xdp.Driver, Open: true},
		"in generic mode; no busy polling: some reason; single datagrams are sent through a packet socket":                 {Mode: xdp.Generic, BusyPoll: errors.New("some reason")},
	} {
		s := &settings{link: linkXDP, xdpBusy: 50}
		if got, _, _ := strings.Cut(s.usageText(p, true), other); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
}
