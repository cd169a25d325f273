package netx

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
)

// sendBursts sends the datagrams of b.
func sendBursts(t testing.TB, fd FD, to *SockAddr, b *Burst) (calls int) {
	t.Helper()
	for b.Len() > 0 {
		left := b.Len()
		n, errno := SendBurst(fd, to, b, 64)
		if errno != 0 || n < 1 || b.Len() != left-n {
			t.Fatalf("%d of %d sent, %d left, %v", n, left, b.Len(), errno)
		}
		calls++
	}
	return calls
}

func TestBurst(t *testing.T) {
	a, from, _ := datagramSocket(t, loopback4)
	fd, _, to := datagramSocket(t, loopback4)
	b := NewBurst(4, 5)
	for _, want := range [][]string{{"one"}, {"", "two"}, {"a", "", "b", "c"}} {
		b.Reset()
		for i, s := range want {
			half := len(s) / 2
			if !b.Append([]byte(s[:half])) || !b.Append([]byte(s[half:])) {
				t.Fatal("no room")
			}
			if more := b.End(); more != (i < 3) {
				t.Errorf("room for another after %d: %v", i+1, more)
			}
		}
		if calls := sendBursts(t, a, to, b); Batches && calls != 1 {
			t.Errorf("%q: %d calls", want, calls)
		}
		d := Datagram{Buf: make([]byte, 100)}
		for _, s := range want {
			wait(t, fd, In)
			if errno := RecvFrom(fd, &d); errno != 0 {
				t.Fatal(errno)
			}
			if got, _ := d.From.AddrPort(); got != from || string(d.Buf[:d.N]) != s {
				t.Errorf("%q from %v, want %q", d.Buf[:d.N], got, s)
			}
		}
	}
	if n, errno := SendBurst(a, to, b, 64); n != 0 || errno != 0 {
		t.Errorf("nothing left: %d, %v", n, errno)
	}
}

// TestBurstCut takes back a datagram that does not fit.
func TestBurstCut(t *testing.T) {
	a, _, _ := datagramSocket(t, loopback4)
	fd, _, to := datagramSocket(t, loopback4)
	b := NewBurst(4, 3)
	b.Append([]byte("x"))
	b.Append([]byte("y"))
	if !b.End() || !b.Append([]byte("lost")) || b.Append([]byte("no room")) {
		t.Fatal("room for three buffers, not for four")
	}
	if b.Cut(); b.Len() != 1 || b.v.Room() != 1 {
		t.Errorf("%d datagrams, room for %d buffers", b.Len(), b.v.Room())
	}
	if b.Append([]byte("z")); b.End() {
		t.Error("room for a fourth buffer")
	}
	sendBursts(t, a, to, b)
	d := Datagram{Buf: make([]byte, 100)}
	for _, want := range []string{"xy", "z"} {
		wait(t, fd, In)
		if errno := RecvFrom(fd, &d); errno != 0 || string(d.Buf[:d.N]) != want {
			t.Errorf("%q, %v", d.Buf[:d.N], errno)
		}
	}
}

// TestBurstFails has a datagram in the middle that is too long. Those before it are sent. The next call begins with
// it and fails.
func TestBurstFails(t *testing.T) {
	a, _, _ := datagramSocket(t, loopback4)
	_, _, to := datagramSocket(t, loopback4)
	b := NewBurst(8, 8)
	for _, size := range []int{10, 10, MaxDatagram + 1, 10} {
		b.Append(make([]byte, size))
		b.End()
	}
	sent := 0
	var errno syscall.Errno
	for errno == 0 {
		var n int
		n, errno = SendBurst(a, to, b, 64)
		sent += n
		if b.Stopped() != (Batches && errno == 0) {
			t.Errorf("%d sent, %v: stopped %v", n, errno, b.Stopped())
		}
	}
	if sent != 2 || errno != syscall.EMSGSIZE || b.Len() != 2 {
		t.Errorf("%d sent, %d left, %v", sent, b.Len(), errno)
	}
	if n, errno := SendBurst(a, to, b, 1); n != 0 || errno != syscall.EMSGSIZE {
		t.Errorf("again: %d, %v", n, errno)
	}
}

// BenchmarkBurst sends runs of datagrams to a socket that is not read: one call for each, and one call for all.
func BenchmarkBurst(b *testing.B) {
	for _, c := range []struct{ count, size, most int }{{16, 64, 1}, {16, 64, 64}, {45, 1400, 1}, {45, 1400, 16},
		{45, 1400, 32}, {45, 1400, 64}} {
		b.Run(fmt.Sprintf("%d of %d bytes, %d at once", c.count, c.size, c.most), func(b *testing.B) {
			a, _, _ := datagramSocket(b, loopback4)
			_, _, to := datagramSocket(b, loopback4)
			x := NewBurst(c.count, c.count)
			payload := bytes.Repeat([]byte{1}, c.size)
			b.SetBytes(int64(c.count * c.size))
			b.ReportAllocs()
			for b.Loop() {
				x.Reset()
				for range c.count {
					x.Append(payload)
					x.End()
				}
				for x.Len() > 0 {
					if _, errno := SendBurst(a, to, x, c.most); errno != 0 {
						b.Fatal(errno)
					}
				}
			}
		})
	}
}
