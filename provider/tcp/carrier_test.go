//go:build linux && !fabricbasic

package tcp

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/impair"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/trust"
)

// perfect is a network without faults.
type perfect struct{}

func (perfect) Stream(time.Duration) *impair.Stream {
	return impair.NewStream(1, 1, impair.Faults{}, impair.StreamFaults{}, nil, mono.Now(), mono.Now(), 0)
}

// sockets are the ends of a connection.
func sockets(t testing.TB) (fds [2]netx.FD) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	return [2]netx.FD{netx.FD(p[0]), netx.FD(p[1])}
}

// sharing are the ends of a connection with shared memory.
func sharing(t testing.TB, m *mover) (ends [2]*samehost.Conn) {
	t.Helper()
	name := samehost.Name("test", t.Name())
	l, err := samehost.Listen(samehost.Config{Use: trust.Stream, Name: name, Memory: true, MaxPending: 1, Greeted: func(c *samehost.Conn, _ []byte) {
		must(t, c.Map())
		ends[1] = c
	}})
	must(t, err)
	defer l.Close()
	ends[0], err = samehost.Dial(trust.Stream, name)
	must(t, err)
	must(t, ends[0].Greet(nil, true))
	l.Accept()
	m.memories += 2
	return ends
}

// eachCarrier runs a test with both ends of each kind of carrier. TCP's carrier runs over a local socket, which
// behaves the same in these tests.
func eachCarrier(t *testing.T, f func(t *testing.T, a, b carrier)) {
	bufs := newBuffers(4096)
	bufs.faults = perfect{}
	m := newMover(true)
	socket := func(fd netx.FD) socketCarrier { return socketCarrier{fd: fd, iov: bufs.iov} }
	t.Run("TCP", func(t *testing.T) {
		fds := sockets(t)
		f(t, &tcpCarrier{socket(fds[0])}, &tcpCarrier{socket(fds[1])})
	})
	t.Run("local socket", func(t *testing.T) {
		fds := sockets(t)
		f(t, &unixCarrier{socket(fds[0])}, &unixCarrier{socket(fds[1])})
	})
	t.Run("shared memory", func(t *testing.T) {
		ends := sharing(t, m)
		f(t, &shmCarrier{Conn: ends[0], mover: m}, &shmCarrier{Conn: ends[1], mover: m})
		if m.memories != 0 {
			t.Errorf("%d memories are left over", m.memories)
		}
	})
	t.Run("with faults", func(t *testing.T) {
		fds := sockets(t)
		a, b := newImpairedCarrier(bufs, fds[0]), newImpairedCarrier(bufs, fds[1])
		a.iov, b.iov = bufs.iov, bufs.iov
		f(t, a, b)
	})
}

// TestCarriers sends bytes from one end to the other, in slices and buffers of all lengths and beyond the carrier's
// room, and then closes. The other end receives all bytes and then the end of the stream.
func TestCarriers(t *testing.T) {
	eachCarrier(t, func(t *testing.T, a, b carrier) {
		rnd := rand.New(rand.NewPCG(1, 2))
		data := make([]byte, 3<<20)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		if _, more, errno := b.receive(nil, make([]byte, 10)); errno != syscall.EAGAIN || more {
			t.Fatalf("%v: receive before any send: more %v, %v; want EAGAIN", b, more, errno)
		}
		var got []byte
		sent, full := 0, 0
		receive := func() bool {
			var target []byte
			if rnd.IntN(2) == 0 {
				target = make([]byte, 1+rnd.IntN(50_000))
			}
			head := make([]byte, 1+rnd.IntN(1000))
			n, more, errno := b.receive(target, head)
			if errno == syscall.EAGAIN {
				return true
			}
			if errno != 0 {
				t.Fatalf("%v: %v", b, errno)
			}
			if whole := n == len(target)+len(head); whole && !more {
				t.Fatalf("%v: received all %d bytes that fit, but more is false", b, n)
			}
			direct := min(n, len(target))
			got = append(append(got, target[:direct]...), head[:n-direct]...)
			return n > 0
		}
		for sent < len(data) {
			var first []byte
			var list [][]byte
			if rest := data[sent:]; rnd.IntN(2) == 0 {
				first = rest[:min(len(rest), 1+rnd.IntN(100_000))]
			} else {
				for range 1 + rnd.IntN(10) {
					n := min(len(rest), rnd.IntN(50_000))
					list = append(list, rest[:n])
					rest = rest[n:]
				}
			}
			n, errno := a.transmit(first, list)
			switch errno {
			case 0, syscall.EINTR:
				sent += n
			case syscall.EAGAIN:
				full++
				for len(got) < sent && rnd.IntN(50) > 0 {
					receive()
				}
			default:
				t.Fatalf("%v: %v", a, errno)
			}
		}
		if full == 0 {
			t.Errorf("%v: the carrier was never full", a)
		}
		if d := a.delivery(); d.err != nil {
			t.Errorf("%v: %v", a, d.err)
		}
		a.close(false)
		for receive() {
			b.ready(true, false) // receive the doorbells, and then the end of the stream
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%v: received %d bytes of %d, or different ones", b, len(got), len(data))
		}
		errno := syscall.Errno(0)
		for errno == 0 {
			_, errno = b.transmit(data[:1000], nil)
		}
		if errno != syscall.EPIPE && errno != syscall.ECONNRESET {
			t.Errorf("%v: transmit to a closed end: %v", b, errno)
		}
		b.close(true)
	})
}

// TestCarriersAllocate checks that transfers allocate nothing.
func TestCarriersAllocate(t *testing.T) {
	eachCarrier(t, func(t *testing.T, a, b carrier) {
		out, target, head := [][]byte{make([]byte, 100), make([]byte, 900)}, make([]byte, 500), make([]byte, 500)
		if n := testing.AllocsPerRun(100, func() {
			if n, errno := a.transmit(nil, out); n != 1000 || errno != 0 {
				t.Fatal(n, errno)
			}
			if n, more, errno := b.receive(target, head); n != 1000 || !more || errno != 0 {
				t.Fatal(n, more, errno)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", a, n)
		}
		a.close(false)
		b.close(false)
	})
}
