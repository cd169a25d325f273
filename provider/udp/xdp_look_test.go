//go:build linux

package udp

import (
	"errors"
	"strings"
	"testing"

	"gofabric/internal/xdp"
)

// TestXDPProspect: what is said of an interface that is used, or would be, is no more than is known. The tests of test/netns see that it is so.
func TestXDPProspect(t *testing.T) {
	const (
		may  = "; its program may step aside while large messages come"
		sock = "; single datagrams leave by a packet socket"
		ring = "; single datagrams leave by AF_XDP's rings: some reason"
		lent = "; its program does not step aside: fabricd lends it"
		tax  = "; meanwhile what others receive over the interface passes its program"
	)
	taxes := []string{", for which the system copies it once more (tcp over veth: 1.1 times the processor time for small messages, 1.3 times for large ones)",
		", for which the system copies it once more", ", for which the system copies it once more", ", for which the system copies it once more in generic mode", "",
		", for which the system copies it once more (tcp over veth: 1.1 times the processor time for small messages, 1.3 times for large ones)",
		", for which the driver copies it and takes large packets apart (tcp over veth: 1.2 times the processor time for small messages, 5 times for large ones)"}
	why := errors.New("some reason")
	for n, tt := range []struct {
		p    xdp.Prospect
		veth bool
		want string // with auto
		xdp  string // with xdp
	}{
		{xdp.Prospect{Mode: xdp.Generic}, true, "in generic mode" + may + sock, "in generic mode" + sock},
		{xdp.Prospect{Mode: xdp.Generic}, false, "in generic mode" + may + sock + ", unless the driver has zero-copy", "in generic mode" + sock + ", unless the driver has zero-copy"},
		{xdp.Prospect{Mode: xdp.Generic, Open: true}, false, "in generic mode" + may + sock, "in generic mode" + sock},
		{xdp.Prospect{Mode: xdp.Auto, Single: why}, false, "in driver mode if the driver can; in generic mode its program may step aside while large messages come" + ring,
			"in driver mode if the driver can" + ring},
		{xdp.Prospect{Mode: xdp.Driver, Open: true, Single: why}, false, "in driver mode; its program does not step aside: nothing is gained by that in driver mode" + ring, "in driver mode" + ring},
		{xdp.Prospect{Mode: xdp.Generic, Lent: true, Single: why}, true, "lent by fabricd" + lent + ring, "lent by fabricd" + ring},
		{xdp.Prospect{Mode: xdp.Driver, Lent: true, Open: true, Single: why}, true, "in driver mode, lent by fabricd" + lent + ring, "in driver mode, lent by fabricd" + ring},
	} {
		for link, want := range map[string]string{linkAuto: tt.want, linkXDP: tt.xdp} {
			s := &settings{link: link, xdpAside: true}
			want += tax + taxes[n]
			if got := s.prospectSays(tt.p, tt.veth); got != want {
				t.Errorf("%s, %+v:\n%s, want\n%s", link, tt.p, got, want)
			}
		}
	}
}

// TestXDPBusySays: busy polling is spoken of where it is asked for.
func TestXDPBusySays(t *testing.T) {
	const tax = "; meanwhile what others receive over the interface passes its program"
	for want, p := range map[string]xdp.Prospect{
		"in driver mode if the driver can; busy polling in driver mode; single datagrams leave by a packet socket": {Mode: xdp.Auto},
		"in driver mode; busy polling; single datagrams leave by a packet socket":                                  {Mode: xdp.Driver, Open: true},
		"in generic mode; no busy polling: some reason; single datagrams leave by a packet socket":                 {Mode: xdp.Generic, Busy: errors.New("some reason")},
	} {
		s := &settings{link: linkXDP, xdpBusy: 50}
		if got, _, _ := strings.Cut(s.prospectSays(p, true), tax); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
}
