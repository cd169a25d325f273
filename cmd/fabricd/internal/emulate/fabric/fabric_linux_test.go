package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// open makes a fabric that ends with the test.
func open(t testing.TB, what string) *Fabric {
	t.Helper()
	top, err := topology.Load(what)
	if err != nil {
		top, err = topology.Parse([]byte(what))
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(top, slog.New(slog.DiscardHandler))
	if err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
			need.Missing(t, "an emulated fabric needs root and /dev/net/tun: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// within runs work on a thread inside a node. Sockets that it makes stay there.
func within(t testing.TB, f *Fabric, node string, work func() error) {
	t.Helper()
	file, err := f.Namespace(node)
	if err != nil {
		t.Fatal(err)
	}
	err = onThread(func() error {
		fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return work()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// socket opens a UDP socket in a node. Its buffers are larger than users may have, and the kernel adds time stamps
// to received datagrams.
func socket(t testing.TB, f *Fabric, node string) (c *net.UDPConn) {
	t.Helper()
	within(t, f, node, func() (err error) {
		c, err = net.ListenUDP("udp", nil)
		if err == nil {
			err = errors.Join(c.SetReadBuffer(64<<20), option(c, unix.SO_RCVBUFFORCE, 64<<20), option(c, unix.SO_SNDBUFFORCE, 64<<20), option(c, unix.SO_TIMESTAMPNS, 1))
		}
		return err
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// option sets an option of a socket.
func option(c *net.UDPConn, name, value int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	return errors.Join(raw.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, name, value) }), inner)
}

// addressOf returns the address of a socket in a node.
func addressOf(f *Fabric, node string, c *net.UDPConn) netip.AddrPort {
	n := &f.top.Nodes[f.top.Node(node)]
	return netip.AddrPortFrom(n.Interfaces[0].Addresses[0].Addr(), uint16(c.LocalAddr().(*net.UDPAddr).Port))
}

// change sets the faults of both directions.
func change(t testing.TB, f *Fabric, id string, faults link.Faults) {
	t.Helper()
	if err := f.Change(id, topology.Both, nil, func(link.Faults) (link.Faults, error) { return faults, faults.Check() }); err != nil {
		t.Fatal(err)
	}
}

// find returns the state of a link.
func find(f *Fabric, id string) api.Link {
	e := f.State()
	return e.Links[slices.IndexFunc(e.Links, func(l api.Link) bool { return l.ID == id })]
}

// answer sends all datagrams back until the socket is closed.
func answer(c *net.UDPConn) {
	b := make([]byte, 2048)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		_, _ = c.WriteToUDPAddrPort(b[:n], from)
	}
}

// echoes sends n datagrams, and waits for the answer to each.
func echoes(t *testing.T, c *net.UDPConn, to netip.AddrPort, n int) {
	t.Helper()
	b := make([]byte, 64)
	for range n {
		if _, err := c.WriteToUDPAddrPort(b, to); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Read(b); err != nil {
			t.Fatal(err)
		}
	}
}

// receive waits for a datagram until a time. at is the time at which the kernel received it, and thus the time at
// which the loop delivered it. A wait of this test for a processor has no effect on it.
func receive(c *net.UDPConn, b []byte, until time.Time) (n int, at time.Time, err error) {
	var control [64]byte
	_ = c.SetReadDeadline(until)
	n, had, _, _, err := c.ReadMsgUDPAddrPort(b, control[:])
	if err != nil {
		return 0, at, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:had])
	if err != nil || len(messages) != 1 || messages[0].Header.Type != unix.SCM_TIMESTAMPNS {
		return 0, at, fmt.Errorf("no time stamp in %x, %v", control[:had], err)
	}
	stamp := messages[0].Data // a struct timespec of a 64-bit machine
	return n, time.Unix(int64(binary.NativeEndian.Uint64(stamp)), int64(binary.NativeEndian.Uint64(stamp[8:]))), nil
}

// alarm is a plain timer to compare the fabric's timers with. It waits like goroutines that wait for sockets. The
// resolution of time.Sleep is a millisecond only.
type alarm struct{ *os.File }

func newAlarm(t *testing.T) alarm {
	t.Helper()
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	a := alarm{os.NewFile(uintptr(fd), "timer")}
	t.Cleanup(func() { a.Close() })
	return a
}

// sleep waits for d, and returns how long that took.
func (a alarm) sleep(t *testing.T, d time.Duration) time.Duration {
	t.Helper()
	begin := time.Now()
	raw, err := a.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		inner = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	})
	if err = errors.Join(err, inner); err == nil {
		_, err = a.Read(make([]byte, 8))
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

// transits returns the times that n datagrams take, in order. Each is sent after the previous one has arrived.
// While a datagram is on its way, a plain timer waits for d; sleeps are the lengths of these waits.
func transits(t *testing.T, from, to *net.UDPConn, dest netip.AddrPort, n int, d time.Duration) (took, sleeps []time.Duration) {
	t.Helper()
	b, a := make([]byte, 64), newAlarm(t)
	for range n {
		begin := time.Now()
		if _, err := from.WriteToUDPAddrPort(b, dest); err != nil {
			t.Fatal(err)
		}
		if d > 0 {
			sleeps = append(sleeps, a.sleep(t, d))
		}
		_, at, err := receive(to, b, time.Now().Add(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, at.Sub(begin))
	}
	slices.Sort(took)
	slices.Sort(sleeps)
	return took, sleeps
}

// off returns the difference between got and want, as a fraction of want.
func off(got, want float64) float64 { return math.Abs(got-want) / want }

// TestDelayIsRight: a path's delay is never shorter than requested. Apart from the time that the path takes without
// a delay, it is at most 5 % longer than the longer one of two times: the requested delay, and the time that a
// plain timer for it takes on this machine at the same moment.
func TestDelayIsRight(t *testing.T) {
	f := open(t, "pair")
	a, b := socket(t, f, "n1"), socket(t, f, "n2")
	for _, way := range []struct {
		name     string
		from, to *net.UDPConn
		dest     netip.AddrPort
	}{{"there", a, b, addressOf(f, "n2", b)}, {"back", b, a, addressOf(f, "n1", a)}} {
		change(t, f, "n1-n2", link.Faults{})
		const n = 41
		took, _ := transits(t, way.from, way.to, way.dest, 100, 0)
		bare := took[len(took)/10] // the lowest tenth: the time without other load on the machine
		for _, d := range []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 10 * time.Millisecond} {
			change(t, f, "n1-n2", link.Faults{Delay: d})
			right := false
			for try := 0; try < tries && !right; try++ {
				took, sleeps := transits(t, way.from, way.to, way.dest, n, d)
				low, slept := took[n/10]-bare, sleeps[n/10]
				t.Logf("%s with a delay of %v: the shortest is %v, the lowest tenth %v + %v; a plain timer takes %v",
					way.name, d, took[0], bare, low, slept)
				if took[0] < d {
					t.Fatalf("%s with a delay of %v: a datagram arrived after %v", way.name, d, took[0])
				}
				right = float64(low) < 1.05*float64(max(d, slept))
			}
			if !right {
				t.Errorf("%s with a delay of %v: the delay is longer than that of a plain timer", way.name, d)
			}
		}
	}
}

// tries is the number of attempts of measurements that other load on the machine can disturb.
const tries = 5

// blast sends n datagrams of size bytes, numbered from first on, in groups of many that are about a millisecond
// apart. It does not make up for delays.
func blast(c *net.UDPConn, to netip.AddrPort, first, n, size, many int) {
	b := make([]byte, size)
	for i := range n {
		binary.BigEndian.PutUint32(b, uint32(first+i))
		_, _ = c.WriteToUDPAddrPort(b, to) // a datagram that could not be sent does not arrive
		if i%many == many-1 {
			time.Sleep(time.Millisecond) // the rate at which it sends
		}
	}
}

// numbers returns the first numbers of the received datagrams, until none arrives for a while, and the times at
// which the kernel received the first and the last one.
func numbers(t testing.TB, c *net.UDPConn, quiet time.Duration) (got []uint32, first, last time.Time) {
	t.Helper()
	b := make([]byte, 65536)
	for {
		n, at, err := receive(c, b, time.Now().Add(quiet))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return got, first, last
		}
		if err != nil {
			t.Fatal(err)
		}
		if last = at; first.IsZero() {
			first = at
		}
		if n >= 4 {
			got = append(got, binary.BigEndian.Uint32(b))
		}
	}
}

// untilEntered waits until n more frames than before have entered a link or were dropped there.
func untilEntered(t *testing.T, f *Fabric, id string, before api.LinkStats, n int) (after api.LinkStats) {
	t.Helper()
	wait.Until(t, fmt.Sprintf("%d frames have entered %s", n, id), func() bool {
		after = find(f, id).AB.Stats
		return int(after.Frames+after.Dropped-before.Frames-before.Dropped) >= n
	})
	return after
}

// TestLossIsRight: a link loses the requested part of the frames that enter it, within 5 %, and all others arrive.
// The kernels send some frames by themselves.
func TestLossIsRight(t *testing.T) {
	const n, own = 60000, 8
	f := open(t, "pair")
	a, b := socket(t, f, "n1"), socket(t, f, "n2")
	to := addressOf(f, "n2", b)
	first := 0
	for _, loss := range []float64{0.05, 0.2} {
		change(t, f, "n1-n2", link.Faults{Loss: loss})
		before := find(f, "n1-n2").AB.Stats
		blast(a, to, first, n, 64, 128)
		after := untilEntered(t, f, "n1-n2", before, n)
		got, _, _ := numbers(t, b, 200*time.Millisecond)
		entered, lost, overrun := int(after.Frames-before.Frames), int(after.Lost-before.Lost), int(after.Dropped-before.Dropped)
		t.Logf("loss %v: %d of %d, and %d dropped for lack of room in the interface", loss, lost, entered, overrun)
		if off(float64(lost), loss*float64(entered)) > 0.05 || entered < n/2 {
			t.Errorf("loss %v: %d of %d frames were lost", loss, lost, entered)
		}
		if missing := entered - lost - len(got); missing < 0 || missing > own || entered+overrun < n ||
			entered+overrun > n+own {
			t.Errorf("loss %v: %d frames entered and %d arrived of %d sent; %+v", loss, entered, len(got), n, after)
		}
		first += n
	}
}

// TestRateIsRight: a line empties its queue at the requested bit rate, within 5 %. All frames wait before the first
// may enter, so that the result does not depend on the sender.
func TestRateIsRight(t *testing.T) {
	f := open(t, "pair")
	a, b := socket(t, f, "n1"), socket(t, f, "n2")
	to := addressOf(f, "n2", b)
	const size, n = 1000, 3000
	for _, rate := range []float64{80e6, 400e6} {
		change(t, f, "n1-n2", link.Faults{Rate: rate, Queue: n + 10}) // the kernels send some frames by themselves
		is, right := 0.0, false
		for try := 0; try < tries && !right; try++ {
			f.mu.Lock() // the loop waits
			blast(a, to, 0, n, size, n)
			f.mu.Unlock()
			got, first, last := numbers(t, b, 200*time.Millisecond)
			is = float64(len(got)-1) * (size + 42) * 8 / last.Sub(first).Seconds()
			right = off(is, rate) < 0.05 && len(got) == n
			t.Logf("rate %v: %.4g bit/s arrive, in %d datagrams", rate, is, len(got))
		}
		if !right {
			t.Errorf("rate %v: %.4g bit/s arrive, or datagrams are missing", rate, is)
		}
	}
}

// TestSameSeed: the same seed loses the same datagrams, even if the kernels send other frames of their own. Another
// seed loses other datagrams.
func TestSameSeed(t *testing.T) {
	fate := func(seed int) []uint32 {
		f := open(t, fmt.Sprintf("seed: %d\nnodes: [n1, n2]\nswitches: [s]\nlinks: [{between: [n1, s], loss: 10%%}, {between: [s, n2], dup: 5%%, burst: 1%%/20%%}]", seed))
		a, b := socket(t, f, "n1"), socket(t, f, "n2")
		blast(a, addressOf(f, "n2", b), 0, 5000, 64, 128)
		after := untilEntered(t, f, "n1-s", api.LinkStats{}, 5000)
		got, _, _ := numbers(t, b, 200*time.Millisecond)
		if n := after.Dropped; n > 0 {
			t.Fatalf("%d of 5000 frames were dropped by an interface with room for %d", n, ringFrames)
		}
		return got
	}
	one, again, other := fate(7), fate(7), fate(8)
	if !slices.Equal(one, again) || len(one) < 3000 {
		t.Errorf("the same seed: %d and %d arrived", len(one), len(again))
	}
	if slices.Equal(one, other) {
		t.Error("another seed lost the same datagrams")
	}
}

// TestProcessStays: a thread that stays in a node is never the first thread of the process. Other programs take the
// namespace of the first thread for that of the process.
func TestProcessStays(t *testing.T) {
	const own = "/proc/self/ns/net"
	before, err := os.Readlink(own)
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		f := open(t, "pair")
		within(t, f, "n1", func() error { return nil })
		if now, err := os.Readlink(own); err != nil || now != before {
			t.Fatalf("the process' namespace was %s and is %s, %v", before, now, err)
		}
	}
}

// TestRemoved: a program removes its node's interface. The fabric logs one warning, the other nodes continue, and
// the loop sleeps when they are idle.
func TestRemoved(t *testing.T) {
	f := open(t, "star")
	f.mu.Lock()
	warnings := make(chan string, 1000)
	f.log = slog.New(slog.NewTextHandler(lines(warnings), &slog.HandlerOptions{Level: slog.LevelWarn}))
	f.mu.Unlock()
	within(t, f, "n1", func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return netlink.LinkDel(l)
	})
	if said := <-warnings; !strings.Contains(said, "node=n1") || !strings.Contains(said, "interface=eth0") {
		t.Errorf("the warning is %q", said)
	}
	from, to := socket(t, f, "n2"), socket(t, f, "n3")
	go answer(to)
	echoes(t, from, addressOf(f, "n3", to), 100) // each takes two passes of the loop or more
	if n := len(warnings); n > 0 {
		t.Errorf("%d more warnings", n)
	}
}

// lines is a writer that sends each line to a channel, and drops lines without a reader.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

// TestNothingLeft: a closed fabric leaves no descriptor and no goroutine.
func TestNothingLeft(t *testing.T) {
	t.Run("first", func(t *testing.T) { open(t, "pair") }) // opens the descriptors that the runtime opens once
	time.Sleep(time.Millisecond)                           // With the first timer the runtime opens its poller
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	top, err := topology.Load("leaf-spine")
	if err != nil {
		t.Fatal(err)
	}
	before := files()
	for range 3 {
		f, err := New(top, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if during := files(); during < before+12 {
			t.Errorf("%d descriptors are open, %d before", during, before)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		select {
		case <-f.done:
		default:
			t.Error("the loop still runs")
		}
	}
	if after := files(); after > before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}
