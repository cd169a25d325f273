package tcp

// Without descriptors.

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/core"
)

// exhaust leaves the process without a free descriptor until the returned function is called.
func exhaust(t *testing.T) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	free, err := unix.Dup(0)
	must(t, err)
	must(t, unix.Close(free))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free), Max: was.Max}))
	return func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }
}

// TestNoDescriptors takes all descriptors away: who asks for a connection is told so, the listener neither dies nor spins, and serves again afterwards.
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

	ep.drv.d.prog.Lock() // so that nothing is accepted before the descriptors are gone
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
