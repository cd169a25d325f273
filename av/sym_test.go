package av

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"gofabric/core"
)

var hosts = map[string]string{"node07": "10.0.0.7", "node08": "10.0.0.8", "node09": "10.0.0.9", "node10": "10.0.0.10",
	"both": "::1 127.0.0.1", "six": "::1"}

func lookUp(node, service string) ([]netip.AddrPort, error) {
	port := map[string]uint16{"http": 80, "7471": 7471, "7": 7}[service]
	if ip, err := netip.ParseAddr(node); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip, port)}, nil
	}
	ips, ok := hosts[node]
	if !ok {
		return nil, errors.New("no such host")
	}
	var list []netip.AddrPort
	for ip := range strings.FieldsSeq(ips) {
		list = append(list, netip.AddrPortFrom(netip.MustParseAddr(ip), port))
	}
	return list, nil
}

func TestInsertSym(t *testing.T) {
	for _, c := range []struct {
		node    string
		nodes   int
		service string
		svcs    int
		format  core.AddrFormat
		want    string // addresses in order, or the text of an error
	}{
		{"10.0.0.254", 3, "7471", 2, 0, "10.0.0.254:7471 10.0.0.254:7472 10.0.0.255:7471 10.0.0.255:7472 10.0.1.0:7471 10.0.1.0:7472"},
		{"2001:db8::fffe", 3, "7", 1, 0, "[2001:db8::fffe]:7 [2001:db8::ffff]:7 [2001:db8::1:0]:7"},
		{"fe80::1%eth0", 2, "7", 1, 0, "[fe80::1%eth0]:7 [fe80::2%eth0]:7"},
		{"node07", 4, "7471", 1, 0, "10.0.0.7:7471 10.0.0.8:7471 10.0.0.9:7471 10.0.0.10:7471"},
		{"node09", 2, "7471", 2, 0, "10.0.0.9:7471 10.0.0.9:7472 10.0.0.10:7471 10.0.0.10:7472"},
		{"node07", 1, "http", 1, 0, "10.0.0.7:80"},
		{"10.0.0.1", 1, "http", 1, 0, "10.0.0.1:80"},
		{"both", 1, "7", 1, core.FormatSockaddrIn, "127.0.0.1:7"},
		{"both", 1, "7", 1, core.FormatSockaddrIn6, "[::1]:7"},
		{"both", 1, "7", 1, 0, "[::1]:7"},
		{"10.0.0.1", 0, "7", 5, 0, ""},
		{"six", 1, "7", 1, core.FormatSockaddrIn, core.ErrAddrNotAvail.Error()},
		{"node07", 5, "7471", 1, 0, core.ErrNoData.Error()},
		{"nowhere", 1, "7471", 1, 0, core.ErrNoData.Error()},
		{"both", 2, "7471", 1, 0, core.ErrInval.Error()},
		{"node18446744073709551615", 2, "7", 1, 0, core.ErrNoData.Error()},
		{"node07", 1, "http", 2, 0, core.ErrInval.Error()},
		{"255.255.255.255", 2, "7", 1, 0, core.ErrInval.Error()},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 2, "7", 1, 0, core.ErrInval.Error()},
		{"10.0.0.1", 1, "65535", 2, 0, core.ErrInval.Error()},
		{"10.0.0.1", -1, "7", 1, 0, core.ErrInval.Error()},
		{"10.0.0.1", math.MaxInt, "7", math.MaxInt, 0, core.ErrInval.Error()},
	} {
		av, err := New(core.AVAttr{}, c.format, lookUp)
		if err != nil {
			t.Fatal(err)
		}
		fi := make([]core.FIAddr, 16)
		n, err := av.InsertSym(c.node, c.nodes, c.service, c.svcs, fi, 0)
		var got []string
		for i := range n {
			a, err := av.Lookup(fi[i])
			if err != nil || fi[i] != core.FIAddr(i) {
				t.Error(fi[i], err)
			}
			got = append(got, a.IP.String())
		}
		if s := strings.Join(got, " "); err == nil && s != c.want || err != nil &&
			!strings.Contains(err.Error(), c.want) || err != nil && c.want == "" {
			t.Errorf("%s x %d, %s x %d: %q %v, want %q", c.node, c.nodes, c.service, c.svcs, s, err, c.want)
		}
	}
	av := newTable(t, 0)
	if _, err := av.InsertSym("node07", 1, "7", 1, nil, 0); !errors.Is(err, core.ErrNoSys) {
		t.Error("without a resolver:", err)
	}
	if _, err := av.InsertSym("1.2.3.4", 2, "7", 2, make([]core.FIAddr, 3), 0); !errors.Is(err, core.ErrInval) {
		t.Error("no room:", err)
	}
	if _, err := av.InsertSym("1.2.3.4", 2, "7", 2, nil, 1<<11); !errors.Is(err, core.ErrBadFlags) {
		t.Error(err)
	}
}

func TestInsertSvc(t *testing.T) {
	av, _ := New(core.AVAttr{}, 0, lookUp)
	if fi, err := av.InsertSvc("node08", "7471", 0); fi != 0 || err != nil || av.Reverse(addr("10.0.0.8:7471")) != 0 {
		t.Error(fi, err)
	}
	if fi, err := av.InsertSvc("10.0.0.8", "0", 0); fi != core.AddrNotAvail || !errors.Is(err, core.ErrAddrNotAvail) {
		t.Error(fi, err)
	}
	if fi, err := av.InsertSvc("nowhere", "7471", 0); fi != core.AddrNotAvail || !errors.Is(err, core.ErrNoData) {
		t.Error(fi, err)
	}
}
