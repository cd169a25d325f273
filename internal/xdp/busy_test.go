//go:build linux

package xdp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestBusyPoll: packets are received although the interface's interrupts are deferred for longer than the test,
// because receiving polls the driver.
func TestBusyPoll(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := netip.AddrPortFrom(a.v4, 7001)
	i, p := openPort(t, a, Config{Mode: Driver, BusyPoll: 50 * time.Microsecond}, at)
	must(t, i.Usage().BusyPoll)
	fd := int(i.queues[0].s.fd)
	for name, want := range map[int]int{unix.SO_BUSY_POLL: 50, unix.SO_PREFER_BUSY_POLL: 1,
		unix.SO_BUSY_POLL_BUDGET: busyBudget} {
		// The kernel does not return the budget.
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name); err == nil && got != want {
			t.Errorf("option %d is %d", name, got)
		}
	}
	s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
	comes := func(what string) {
		t.Helper()
		_, err := s.WriteToUDPAddrPort([]byte(what), at)
		must(t, err)
		var f [1]Frame
		for end := time.Now().Add(patience); p.Receive(f[:]) == 0; {
			if time.Now().After(end) {
				t.Fatalf("%s did not come: %v", what, i)
			}
		}
		if got := payloadOf(t, f[0].Data); string(got) != what {
			t.Fatalf("%q, want %q", got, what)
		}
		p.Release(f[:])
	}
	comes("the packet that gives the socket its NAPI ID")
	id, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
	must(t, err)
	if id == 0 {
		t.Skip("packets from veth have no NAPI ID since Linux 6.13 (napi_enable), so there is no driver to poll here; test/kernel tests it")
	}
	for _, set := range []string{"echo 2 > /sys/class/net/eth9/napi_defer_hard_irqs",
		fmt.Sprintf("echo %d > /sys/class/net/eth9/gro_flush_timeout", time.Hour)} {
		if out, err := a.Command("sh", "-c", set).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", set, err, out)
		}
	}
	for n := range 100 {
		comes(fmt.Sprint("packet ", n))
	}
}

// TestNoBusyPoll: Inspect and Usage return the reason why the driver is not polled, before the interface is open and
// after.
func TestNoBusyPoll(t *testing.T) {
	a, b := places(t, 1, 1500)
	for _, c := range []struct {
		at   *place
		c    Config
		want error
	}{
		{a, Config{Mode: Driver}, errBusyOff},
		{b, Config{Mode: Generic, BusyPoll: time.Microsecond}, errBusyGeneric},
	} {
		c.at.Enter()
		before, err := Inspect("eth9", c.c)
		must(t, err)
		i, p := openPort(t, c.at, c.c, netip.AddrPortFrom(c.at.v4, 7001))
		for _, got := range []error{before.BusyPoll, i.Usage().BusyPoll} {
			if got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		}
		if i.busyPoll {
			t.Error("the driver is polled")
		}
		if n := p.Receive(make([]Frame, 64)); n != 0 {
			t.Error(n)
		}
	}
}
