package core_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"gofabric/core"
)

func TestParseAddr(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"fi_sockaddr_in://1.2.3.4:7471", ""},
		{"fi_sockaddr_in://1.2.3.4", "fi_sockaddr_in://1.2.3.4:0"},
		{"fi_sockaddr_in://:7471", "fi_sockaddr_in://0.0.0.0:7471"},
		{"FI_SOCKADDR_IN://1.2.3.4:1", "fi_sockaddr_in://1.2.3.4:1"},
		{"fi_sockaddr_in6://[::1]:7471", ""},
		{"fi_sockaddr_in6://[::1]", "fi_sockaddr_in6://[::1]:0"},
		{"fi_sockaddr_in6://:5", "fi_sockaddr_in6://[::]:5"},
		{"fi_sockaddr_in6://[fe80::1%eth0]:65535", ""},
		{"fi_sockaddr_in6://[::ffff:1.2.3.4]:1", ""},
		{"fi_sockaddr://1.2.3.4:5", "fi_sockaddr_in://1.2.3.4:5"},
		{"fi_sockaddr://[::1]:5", "fi_sockaddr_in6://[::1]:5"},
		{"fi_shm://1234", ""}, {"fi_addr_efa://[::1]:2:3", ""},
	} {
		a, err := core.ParseAddr(c.in)
		want := c.want
		if want == "" {
			want = c.in
		}
		if err != nil || a.String() != want || new(core.AddressVector).StrAddr(a) != want {
			t.Errorf("%q: %q, %v", c.in, a, err)
		}
		if back, err := core.ParseAddr(a.String()); err != nil || back != a {
			t.Errorf("%q differs from the text of its address: %v, %v", c.in, back, err)
		}
	}
	for _, in := range []string{"", "1.2.3.4", "://", "fi_sockaddr_in://", "://x", "fi_sockaddr_in://1.2.3.4:",
		"fi_sockaddr_in://1.2.3.4:65536",
		"fi_sockaddr_in://1.2.3.4:-1", "fi_sockaddr_in://1.2.3.4:+1", "fi_sockaddr_in://[::1]:1",
		"fi_sockaddr_in6://1.2.3.4:1", "fi_sockaddr_in6://[::1",
		"fi_sockaddr_in6://[::1]x", "fi_sockaddr_in6://[::1]:", "fi_sockaddr_in://host:1", "fi_sockaddr_in://1.2.3:1",
		"fi_sockaddr_in://01.2.3.4:1",
		"x://\x00", "x://" + strings.Repeat("y", 2000), "fi_sockaddr_in6://[fe80::1%" +
			strings.Repeat("z", 100) + "]:1",
		"fi_sockaddr_in6://::%]0", "fi_sockaddr_in6://[fe80::1%a b]:1", "fi_sockaddr_in6://[fe80::1%a[b]:1"} {
		if a, err := core.ParseAddr(in); !errors.Is(err, core.ErrInval) {
			t.Errorf("%.40q: %v, %v", in, a, err)
		}
	}
}

func TestAddrZero(t *testing.T) {
	var a core.Addr
	if !a.IsZero() || a.String() != "" {
		t.Errorf("%q", a)
	}
	if got := core.IPAddr(netip.MustParseAddrPort("[::ffff:1.2.3.4]:5")).String(); got != "fi_sockaddr_in://1.2.3.4:5" {
		t.Error(got)
	}
}

// FuzzParseAddr: the text of an accepted address means the same address.
func FuzzParseAddr(f *testing.F) {
	for _, s := range []string{"fi_sockaddr_in://1.2.3.4:7471", "fi_sockaddr_in6://[fe80::1%eth0]:1",
		"fi_sockaddr://:1", "fi_shm://x", "fi_sockaddr_in6://[]:1", "fi_sockaddr_in6://::%]0",
		"fi_sockaddr_in6://::% a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := core.ParseAddr(s)
		if err != nil {
			if !errors.Is(err, core.ErrInval) || !a.IsZero() {
				t.Fatalf("%q: %v, %v", s, a, err)
			}
			return
		}
		back, err := core.ParseAddr(a.String())
		if err != nil || back != a {
			t.Fatalf("%q: %v became %q, then %v, %v", s, a, a.String(), back, err)
		}
	})
}
