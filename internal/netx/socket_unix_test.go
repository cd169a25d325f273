//go:build unix

package netx

import (
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFlags: descriptors are non-blocking and close-on-exec.
func TestFlags(t *testing.T) {
	l, _ := listener(t, loopback4)
	c, s := pair(t)
	for _, fd := range []FD{l, c, s} {
		fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		must(t, err)
		fdfl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		must(t, err)
		if fl&unix.O_NONBLOCK == 0 || fdfl&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d: flags %#x %#x, want non-blocking and close-on-exec", fd, fl, fdfl)
		}
	}
}

// TestKeepAlive: times are rounded up to seconds.
func TestKeepAlive(t *testing.T) {
	c, _ := pair(t)
	must(t, SetKeepAlive(c, 1500*time.Millisecond, time.Second, 3))
	for _, o := range []struct {
		name      string
		opt, want int
	}{{"idle", tcpKeepIdle, 2}, {"TCP_KEEPINTVL", tcpKeepInterval, 1}, {"TCP_KEEPCNT", tcpKeepCount, 3}} {
		if got, err := getInt(c, unix.IPPROTO_TCP, o.opt); err != nil || got != o.want {
			t.Errorf("%s = %d, %v; want %d", o.name, got, err, o.want)
		}
	}
}

// TestSocketErrorOnce: the error of a connect is reported once.
func TestSocketErrorOnce(t *testing.T) {
	l, err := StreamSocket(syscall.AF_INET) // it does not listen
	must(t, err)
	closeLater(t, l)
	must(t, Bind(l, netip.AddrPortFrom(loopback4, 0)))
	ap, err := LocalAddr(l)
	must(t, err)
	c, err := StreamSocket(syscall.AF_INET)
	must(t, err)
	closeLater(t, c)
	if err := Connect(c, ap); err == syscall.EINPROGRESS {
		wait(t, c, Out)
		if err := SocketError(c); err != syscall.ECONNREFUSED {
			t.Fatalf("connect: %v, want ECONNREFUSED", err)
		}
	}
	if err := SocketError(c); err != nil {
		t.Fatalf("the error was not taken off the socket: %v", err)
	}
}

func TestDSCP(t *testing.T) {
	c, _ := pair(t)
	must(t, SetDSCP(c, 0x20))
	if got, err := getInt(c, unix.IPPROTO_IP, unix.IP_TOS); err != nil || got != 0x20 {
		t.Errorf("IP_TOS = %d, %v; want 0x20", got, err)
	}
	six, err := DatagramSocket(syscall.AF_INET6)
	must(t, err)
	closeLater(t, six)
	must(t, SetDSCP(six, 0x20))
}
