//go:build unix

package tcp

// A process without free descriptors.

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/core"
)

// exhaust uses up all descriptors of the process until the returned function is called.
func exhaust(t *testing.T) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	free, err := unix.Dup(0)
	must(t, err)
	must(t, unix.Close(free))
	less := was
	setLimit(&less.Cur, free)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &less))
	return func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }
}

// setLimit sets a field of unix.Rlimit. FreeBSD has another type for it.
func setLimit[T int64 | uint64](to *T, n int) { *to = T(n) }

// TestNoDescriptors uses up all descriptors. A peer that connects gets a reset. The listener neither dies nor
// spins, and accepts again afterwards.
func TestNoDescriptors(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	ep := openEndpoint(t, d, info)
	l := ep.drv.Listener().(*domainListener)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer nobody.Close()
	fi := make([]core.FIAddr, 1)
	_, err = ep.v.Insert([]core.Addr{core.IPAddr(netip.MustParseAddrPort(nobody.Addr().String()))}, fi, 0)
	must(t, err)

	ep.drv.d.prog.Lock() // nothing is accepted before the descriptors are used up
	l.spare.Close()
	l.spare = nil
	raw(t, l.local)
	restore := exhaust(t)
	ep.drv.d.prog.Unlock()
	if err := ep.Send(make([]byte, 8), 0, fi[0], 1); !errors.Is(err, core.ErrMFile) {
		t.Errorf("Send to a new peer: %v, want ErrMFile", err)
	}
	quiet(t, ep.drv.d.prog)
	restore()
	eventually(t, ep.drv.d.prog, "the listener accepts again", func() bool { return l.pending.n == 1 })
	must(t, ep.Send(make([]byte, 8), 0, fi[0], 1))

	restore = exhaust(t)
	if _, err := d.OpenEndpoint(info); !errors.Is(err, core.ErrMFile) {
		t.Errorf("OpenEndpoint: %v, want ErrMFile", err)
	}
	if d2, err := f.OpenDomain(info); err == nil { // the portable poller has no descriptor
		must(t, d2.Close())
	} else if !errors.Is(err, core.ErrMFile) {
		t.Errorf("OpenDomain: %v, want ErrMFile", err)
	}
	restore()
	ep.closeAll(t)
	must(t, d.Close())
	must(t, f.Close())
}

// TestSilentWithoutDescriptors: without free descriptors, a pending connection is closed in favour of a new one.
func TestSilentWithoutDescriptors(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	ep := openEndpoint(t, d, info)
	l := ep.drv.Listener().(*domainListener)
	silent := []*net.TCPConn{raw(t, l.local), raw(t, l.local)}
	eventually(t, ep.drv.d.prog, "both are accepted", func() bool { return l.pending.n == 2 })
	ep.drv.d.prog.Lock() // nothing is accepted before the descriptors are used up
	c := raw(t, l.local)
	_, err := c.Write(request(7))
	must(t, err)
	restore := exhaust(t)
	ep.drv.d.prog.Unlock()
	answered(t, c)
	closedByPeer(t, silent[0])
	quiet(t, ep.drv.d.prog)
	restore()
	ep.drv.d.prog.Lock()
	if l.pending.n != 1 || l.refused != 1 {
		t.Errorf("%d wait, %d were refused", l.pending.n, l.refused)
	}
	ep.drv.d.prog.Unlock()
	ep.closeAll(t)
	must(t, d.Close())
	must(t, f.Close())
}
