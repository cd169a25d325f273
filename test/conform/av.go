package conform

// Address vectors (fi_av(3)).

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"gofabric/core"
)

func testAV(t *testing.T, st Stack) {
	if st.EPType == core.EPTypeMsg {
		return // connected endpoints do not use a vector; RDM stacks test it
	}
	if strings.Contains(st.node(), ":") {
		t.Log("the tests of vectors use IPv4 addresses; the IPv4 stack runs them")
		return
	}
	t.Run("insert", func(t *testing.T) { avInsert(t, st) })
	t.Run("services", func(t *testing.T) { avServices(t, st) })
	t.Run("unknown", func(t *testing.T) { avUnknown(t, st) })
	t.Run("replace", func(t *testing.T) { avReplace(t, st) })
}

func tcpAddr(s string) core.Addr { return core.IPAddr(netip.MustParseAddrPort(s)) }

func avInsert(t *testing.T, st Stack) {
	p := Open(t, st)
	av := must(t, "OpenAV", func() (*core.AddressVector, error) {
		return p.A.Domain.OpenAV(core.AVAttr{Type: core.AVTable, Count: 2})
	})
	defer func() { p.A.ok("Close AV", av.Close()) }()
	var addrs []core.Addr
	for i := range uint16(100) {
		addrs = append(addrs, core.IPAddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 10000+i)))
	}
	fi := make([]core.FIAddr, len(addrs))
	n, err := av.Insert(addrs, fi, 0)
	if n != len(addrs) || err != nil {
		t.Fatalf("Insert of 100: %d, %v", n, err)
	}
	for i := range fi {
		if fi[i] != core.FIAddr(i) {
			t.Fatalf("address %d got index %d; a table counts from 0", i, fi[i])
		}
		a, err := av.Lookup(fi[i])
		if err != nil || a != addrs[i] {
			t.Fatalf("Lookup(%d) = %v, %v; want %v", i, a, err, addrs[i])
		}
	}
	if s := av.StrAddr(addrs[0]); s != "fi_sockaddr_in://127.0.0.1:10000" {
		t.Errorf("StrAddr = %q", s)
	}
	st.proves("fi_av_straddr")
	// The lowest free index comes first.
	p.A.ok("Remove", av.Remove([]core.FIAddr{70, 3, 50}, 0))
	for _, i := range []core.FIAddr{3, 50, 70, 1000, core.AddrNotAvail} {
		if _, err := av.Lookup(i); !errors.Is(err, core.ErrInval) {
			t.Errorf("Lookup of a removed or unknown index %d: %v; want ErrInval", i, err)
		}
	}
	refuse(t, "Remove of an unknown index", av.Remove([]core.FIAddr{1000}, 0), core.ErrInval)
	for i, want := range []core.FIAddr{3, 50, 70, 100} {
		a := core.IPAddr(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), uint16(1+i)))
		if n, err := av.Insert([]core.Addr{a}, fi[:1], 0); n != 1 || err != nil || fi[0] != want {
			t.Fatalf("Insert after removals: %d, %v, index %d; want the lowest free one, %d", n, err, fi[0], want)
		}
	}
	avTwice(t, p, av)
	// An invalid address takes no index. The others are inserted.
	n, err = av.Insert([]core.Addr{tcpAddr("127.0.0.3:1"), {}, tcpAddr("127.0.0.3:2")}, fi[:3], 0)
	if n != 2 || err != nil || fi[1] != core.AddrNotAvail || fi[0] == core.AddrNotAvail || fi[2] == core.AddrNotAvail {
		t.Errorf("Insert of good, bad, good: %d, %v, %v; want 2 inserted and AddrNotAvail in the middle", n, err,
			fi[:3])
	}
	if _, err := av.Insert(addrs[:1], fi, 1<<50); !oneOf(err, core.ErrBadFlags, core.ErrInval) {
		t.Errorf("Insert with an unknown flag: %v; want ErrBadFlags", err)
	}
}

// avTwice checks that an address inserted twice has one index and must be removed twice.
func avTwice(t *testing.T, p *Pair, av *core.AddressVector) {
	t.Helper()
	fi := make([]core.FIAddr, 2)
	a := tcpAddr("127.0.0.9:9")
	for i := range 2 {
		if n, err := av.Insert([]core.Addr{a}, fi[i:i+1], 0); n != 1 || err != nil {
			t.Fatalf("Insert: %d, %v", n, err)
		}
	}
	if fi[0] != fi[1] {
		t.Errorf("the same address twice got indexes %d and %d", fi[0], fi[1])
	}
	p.A.ok("Remove", av.Remove(fi[:1], 0))
	if got, err := av.Lookup(fi[1]); err != nil || got != a {
		t.Errorf("after one of two removals: %v, %v; want the address still there", got, err)
	}
	p.A.ok("Remove", av.Remove(fi[1:], 0))
	if _, err := av.Lookup(fi[1]); err == nil {
		t.Error("after two removals the address is still there")
	}
}

func avServices(t *testing.T, st Stack) {
	p := Open(t, st)
	av := must(t, "OpenAV", func() (*core.AddressVector, error) { return p.A.Domain.OpenAV(core.AVAttr{Type: core.AVTable}) })
	defer func() { p.A.ok("Close AV", av.Close()) }()
	fi, err := av.InsertSvc("127.0.0.1", "7471", 0)
	if err != nil {
		t.Fatalf("InsertSvc: %v", err)
	}
	if a, err := av.Lookup(fi); err != nil || a != tcpAddr("127.0.0.1:7471") {
		t.Errorf("InsertSvc inserted %v, %v", a, err)
	}
	if fi, err := av.InsertSvc("no.such.host.invalid", "7471", 0); err == nil {
		t.Errorf("InsertSvc of a host that does not exist: index %d, no error", fi)
	}
	if fi, err := av.InsertSvc("127.0.0.1", "no-such-service", 0); err == nil {
		t.Errorf("InsertSvc of a service that does not exist: index %d, no error", fi)
	}
	out := make([]core.FIAddr, 6)
	n, err := av.InsertSym("127.0.1.5", 2, "9000", 3, out, 0)
	if n != 6 || err != nil {
		t.Fatalf("InsertSym: %d, %v; want 6", n, err)
	}
	for i, want := range []string{"127.0.1.5:9000", "127.0.1.5:9001", "127.0.1.5:9002", "127.0.1.6:9000",
		"127.0.1.6:9001", "127.0.1.6:9002"} {
		if a, err := av.Lookup(out[i]); err != nil || a != tcpAddr(want) {
			t.Errorf("InsertSym entry %d: %v, %v; want %s", i, a.IP, err, want)
		}
	}
	if s := av.StrAddr(tcpAddr("[::1]:5")); !strings.HasPrefix(s, "fi_sockaddr_in6://[::1]:5") {
		t.Errorf("StrAddr of an IPv6 address: %q", s)
	}
}

// avUnknown checks that operations to an unknown index are refused by the call.
func avUnknown(t *testing.T, st Stack) {
	caps := core.CapMsg
	for _, c := range []core.Caps{core.CapRMA, core.CapTagged} {
		if st.Offers(t, c) {
			caps |= c
		}
	}
	p := Open(t, st, WithCaps(caps))
	b := make([]byte, 8)
	gone := p.A.Insert(tcpAddr("127.0.0.7:7"))
	p.A.ok("Remove", p.A.AV.Remove([]core.FIAddr{gone}, 0))
	for _, i := range []core.FIAddr{gone, 5000, core.AddrUnspec} {
		refuse(t, "send", p.A.EP.Send(b, 0, i, 1), core.ErrInval)
		refuse(t, "inject", p.A.EP.Inject(b, i), core.ErrInval)
		if caps&core.CapTagged != 0 {
			refuse(t, "tsend", p.A.EP.TSend(b, 0, i, 1, 1), core.ErrInval)
		}
		if caps&core.CapRMA != 0 {
			refuse(t, "write", p.A.EP.Write(b, 0, i, 0, 1, 1), core.ErrInval)
			refuse(t, "read", p.A.EP.Read(b, 0, i, 0, 1, 1), core.ErrInval)
		}
	}
	p.WantNone(p.A)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 20, 1)
}

// avReplace removes a connected peer and inserts it again. Traffic continues.
func avReplace(t *testing.T, st Stack) {
	p := Open(t, st)
	for i := range uint64(5) {
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 2*i)
		exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 100, 2*i+1)
		p.A.ok("Remove", p.A.AV.Remove([]core.FIAddr{p.A.Peer}, 0))
		if i%2 == 0 { // another address gets the index
			p.A.Insert(core.IPAddr(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.8"), uint16(100+i))))
		}
		p.A.Peer = p.A.Insert(p.B.Addr)
	}
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 100)
}
