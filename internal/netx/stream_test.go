package netx

import (
	"bytes"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestSendRecv(t *testing.T) {
	c, s := pair(t)
	b := make([]byte, 16)
	if n, err := Recv(s, b); n != 0 || err != unix.EAGAIN {
		t.Fatalf("nothing there: %d, %v; want EAGAIN", n, err)
	}
	if n, err := Recv(s, nil); n != 0 || err != unix.EINVAL {
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
	must(t, Shutdown(c, unix.SHUT_WR))
	wait(t, s, In)
	if n, err := Recv(s, b); n != 0 || err != 0 {
		t.Fatalf("end of stream: %d, %v; want 0 and no error", n, err)
	}
	if _, err := Send(c, []byte("x"), false); err != unix.EPIPE {
		t.Fatalf("Send after shutdown: %v, want EPIPE", err)
	}
	if _, err := Recv(NoFD, b); err != unix.EBADF {
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
		if err == unix.EAGAIN {
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
	a, err := DatagramSocket(unix.AF_INET)
	must(t, err)
	closeLater(t, a)
	b, err := DatagramSocket(unix.AF_INET)
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

// TestVectorsAcrossShortCalls pushes random buffers through a stream whose kernel buffers are small, with random lists on either side.
func TestVectorsAcrossShortCalls(t *testing.T) {
	// A pair of local sockets: as short-winded as TCP with small buffers, without its delays.
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	c, s := closeLater(t, FD(ends[0])), closeLater(t, FD(ends[1]))
	must(t, unix.SetNonblock(int(c), true))
	must(t, unix.SetNonblock(int(s), true))
	must(t, SetBuffers(c, 4<<10, 0))
	must(t, SetBuffers(s, 0, 4<<10))
	shortSends := 0
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9000), 1, 40).Draw(rt, "send sizes")
		chunk := rapid.IntRange(1, 5000).Draw(rt, "receive size")
		var want []byte
		out, in := NewIOV(len(sizes)), NewIOV(8)
		for i, n := range sizes {
			b := bytes.Repeat([]byte{byte(i + 1)}, n)
			want = append(want, b...)
			if !out.Append(b) {
				rt.Fatal("no room for as many buffers as asked for")
			}
		}
		got := make([]byte, len(want))
		at := 0
		for at < len(want) {
			if out.Bytes() > 0 {
				n, err := SendV(c, out, rapid.Bool().Draw(rt, "more"))
				if err != 0 && err != unix.EAGAIN {
					rt.Fatal(err)
				}
				out.Consume(n)
				if out.Bytes() > 0 {
					shortSends++
				}
			}
			in.Reset()
			for from := at; from < len(want) && in.Room() > 0; from += chunk {
				in.Append(got[from:min(from+chunk, len(want))])
			}
			n, err := RecvV(s, in)
			if err == unix.EAGAIN {
				continue
			}
			if err != 0 || n == 0 {
				rt.Fatalf("RecvV: %d, %v", n, err)
			}
			in.Consume(n)
			at += n
		}
		if !bytes.Equal(got, want) {
			rt.Fatal("bytes came out different")
		}
	})
	if shortSends == 0 {
		t.Error("no send was short: the test shows nothing")
	}
}

func TestVectorErrors(t *testing.T) {
	c, s := pair(t)
	var v IOV
	if _, err := RecvV(s, &v); err != unix.EINVAL {
		t.Errorf("RecvV into nothing: %v, want EINVAL", err)
	}
	if n, err := SendV(c, &v, false); n != 0 || err != 0 {
		t.Errorf("SendV of nothing: %d, %v", n, err)
	}
	v.Append(make([]byte, 4))
	if _, err := RecvV(s, &v); err != unix.EAGAIN {
		t.Errorf("RecvV with nothing there: %v, want EAGAIN", err)
	}
	must(t, Shutdown(c, unix.SHUT_WR))
	wait(t, s, In)
	if n, err := RecvV(s, &v); n != 0 || err != 0 {
		t.Errorf("RecvV at the end: %d, %v", n, err)
	}
	if _, err := SendV(c, &v, false); err != unix.EPIPE {
		t.Errorf("SendV after shutdown: %v, want EPIPE", err)
	}
}
