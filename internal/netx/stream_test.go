package netx

import (
	"net/netip"
	"syscall"
	"testing"
)

func TestSendRecv(t *testing.T) {
	c, s := pair(t)
	b := make([]byte, 16)
	if n, err := Recv(s, b); n != 0 || err != syscall.EAGAIN {
		t.Fatalf("nothing there: %d, %v; want EAGAIN", n, err)
	}
	if n, err := Recv(s, nil); n != 0 || err != syscall.EINVAL {
		t.Fatalf("Recv into nothing: %d, %v; want EINVAL", n, err)
	}
	if n, err := Send(c, []byte("hello"), false); n != 5 || err != 0 {
		t.Fatalf("Send: %d, %v", n, err)
	}
	wait(t, s, In)
	if n, err := Recv(s, b); err != 0 || string(b[:n]) != "hello" {
		t.Fatalf("Recv: %q, %v", b[:n], err)
	}
	if n, err := Send(c, nil, false); n != 0 || err != 0 {
		t.Fatalf("Send of nothing: %d, %v", n, err)
	}
	must(t, Shutdown(c, syscall.SHUT_WR))
	wait(t, s, In)
	if n, err := Recv(s, b); n != 0 || err != 0 {
		t.Fatalf("end of stream: %d, %v; want 0 and no error", n, err)
	}
	if _, err := Send(c, []byte("x"), false); err != syscall.EPIPE {
		t.Fatalf("Send after shutdown: %v, want EPIPE", err)
	}
	if _, err := Recv(NoFD, b); err != syscall.EBADF {
		t.Fatalf("Recv from no descriptor: %v", err)
	}
}

func TestSendUntilFull(t *testing.T) {
	c, s := pair(t)
	must(t, SetBuffers(c, 16<<10, 0))
	must(t, SetBuffers(s, 0, 16<<10))
	b := make([]byte, 64<<10)
	sent := 0
	for {
		n, err := Send(c, b, false)
		if err == syscall.EAGAIN {
			break
		}
		if err != 0 || sent > 64<<20 {
			t.Fatalf("after %d bytes: %v", sent, err)
		}
		sent += n
	}
	got := 0
	for got < sent {
		wait(t, s, In)
		n, err := Recv(s, b)
		if err != 0 || n == 0 {
			t.Fatalf("after %d of %d bytes: %d, %v", got, sent, n, err)
		}
		got += n
	}
}

func TestDatagrams(t *testing.T) {
	a, err := DatagramSocket(syscall.AF_INET)
	must(t, err)
	closeLater(t, a)
	b, err := DatagramSocket(syscall.AF_INET)
	must(t, err)
	closeLater(t, b)
	must(t, Bind(b, netip.AddrPortFrom(loopback4, 0)))
	ap, err := LocalAddr(b)
	must(t, err)
	must(t, Connect(a, ap))
	for _, m := range []string{"one", "", "three"} {
		if n, err := Send(a, []byte(m), false); n != len(m) || err != 0 {
			t.Fatalf("Send(%q): %d, %v", m, n, err)
		}
	}
	buf := make([]byte, 16)
	for _, m := range []string{"one", "", "three"} {
		wait(t, b, In)
		if n, err := Recv(b, buf); err != 0 || string(buf[:n]) != m {
			t.Fatalf("Recv: %q, %v; want %q", buf[:n], err, m)
		}
	}
}

func TestVectorErrors(t *testing.T) {
	c, s := pair(t)
	var v IOV
	if _, err := RecvV(s, &v); err != syscall.EINVAL {
		t.Errorf("RecvV into nothing: %v, want EINVAL", err)
	}
	if n, err := SendV(c, &v, false); n != 0 || err != 0 {
		t.Errorf("SendV of nothing: %d, %v", n, err)
	}
	v.Append(make([]byte, 4))
	if _, err := RecvV(s, &v); err != syscall.EAGAIN {
		t.Errorf("RecvV with nothing there: %v, want EAGAIN", err)
	}
	must(t, Shutdown(c, syscall.SHUT_WR))
	wait(t, s, In)
	if n, err := RecvV(s, &v); n != 0 || err != 0 {
		t.Errorf("RecvV at the end: %d, %v", n, err)
	}
	if _, err := SendV(c, &v, false); err != syscall.EPIPE {
		t.Errorf("SendV after shutdown: %v, want EPIPE", err)
	}
}
