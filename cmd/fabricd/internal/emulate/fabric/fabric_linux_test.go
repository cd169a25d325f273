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

// socket opens a UDP socket in a node.
func socket(t testing.TB, f *Fabric, node string) (c *net.UDPConn) {
	t.Helper()
	within(t, f, node, func() (err error) {
		c, err = net.ListenUDP("udp", nil)
		if err == nil {
			err = errors.Join(c.SetReadBuffer(64<<20), force(c, unix.SO_RCVBUFFORCE), force(c, unix.SO_SNDBUFFORCE))
		}
		return err
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// force makes a buffer larger than users may.
func force(c *net.UDPConn, option int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	return errors.Join(raw.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 64<<20) }), inner)
}

// addressOf is where a socket in a node is reached.
func addressOf(f *Fabric, node string, c *net.UDPConn) netip.AddrPort {
	n := &f.top.Nodes[f.top.Node(node)]
	return netip.AddrPortFrom(n.Interfaces[0].Addresses[0].Addr(), uint16(c.LocalAddr().(*net.UDPAddr).Port))
}

// change sets faults of both directions.
func change(t testing.TB, f *Fabric, id string, faults link.Faults) {
	t.Helper()
	if err := f.Change(id, topology.Both, nil, func(link.Faults) (link.Faults, error) { return faults, faults.Check() }); err != nil {
		t.Fatal(err)
	}
}

// find returns a link's state.
func find(f *Fabric, id string) api.Link {
	e := f.State()
	return e.Links[slices.IndexFunc(e.Links, func(l api.Link) bool { return l.ID == id })]
}

// answer has a node send back whatever comes, until its socket is closed.
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

// roundTrip returns the middle one of n round trips, and the one that a tenth of them stay below: what the path takes when nobody else has the machine.
func roundTrip(t *testing.T, c *net.UDPConn, to netip.AddrPort, n int) (middle, low time.Duration) {
	t.Helper()
	var all []time.Duration
	b := make([]byte, 64)
	for range n {
		start := time.Now()
		if _, err := c.WriteToUDPAddrPort(b, to); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(start.Add(10 * time.Second))
		if _, err := c.Read(b); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[n/2], all[n/10]
}

// off is by how much got differs from want, as a share of it.
func off(got, want float64) float64 { return math.Abs(got-want) / want }

// TestDelayIsRight: of what an echo takes, two delays are within 5 % of what was asked for, never less, beside what the path takes without any.
func TestDelayIsRight(t *testing.T) {
	f := open(t, "pair")
	a, b := socket(t, f, "n1"), socket(t, f, "n2")
	go answer(b)
	to := addressOf(f, "n2", b)
	_, bare := roundTrip(t, a, to, 100)
	for _, d := range []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 10 * time.Millisecond} {
		change(t, f, "n1-n2", link.Faults{Delay: d})
		var middle, low time.Duration
		right := func() bool { return low >= 2*d && off(float64(low-bare), float64(2*d)) < 0.05 }
		for try := 0; try < tries && !right(); try++ {
			middle, low = roundTrip(t, a, to, 41)
		}
		t.Logf("delay %v both ways: %v, a tenth below %v; without %v", d, middle, low, bare)
		if !right() {
			t.Errorf("delay %v both ways: an echo takes %v", d, low)
		}
	}
}

// tries is how often something is measured that others on the machine can disturb.
const tries = 5

// blast sends n datagrams of size bytes, numbered from first on, in groups of many about a millisecond apart: who is late does not make up for it.
func blast(c *net.UDPConn, to netip.AddrPort, first, n, size, many int) {
	b := make([]byte, size)
	for i := range n {
		binary.BigEndian.PutUint32(b, uint32(first+i))
		_, _ = c.WriteToUDPAddrPort(b, to) // what is not sent does not arrive
		if i%many == many-1 {
			time.Sleep(time.Millisecond)
		}
	}
}

// numbers are the first numbers of the datagrams that come until none does for a while, with the times of the first and the last.
func numbers(t testing.TB, c *net.UDPConn, quiet time.Duration) (got []uint32, first, last time.Time) {
	t.Helper()
	b := make([]byte, 65536)
	for {
		_ = c.SetReadDeadline(time.Now().Add(quiet))
		n, err := c.Read(b)
		if err != nil {
			return got, first, last
		}
		if last = time.Now(); first.IsZero() {
			first = last
		}
		if n >= 4 {
			got = append(got, binary.BigEndian.Uint32(b))
		}
	}
}

// TestLossIsRight: of what enters a link as much is lost as was asked for, within 5 %, and everything else arrives. Some frames are the kernels' own.
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
		got, _, _ := numbers(t, b, 200*time.Millisecond)
		after := find(f, "n1-n2").AB.Stats
		entered, lost, overrun := int(after.Frames-before.Frames), int(after.Lost-before.Lost), int(after.Dropped-before.Dropped)
		t.Logf("loss %v: %d of %d, and %d that the interface had no room for", loss, lost, entered, overrun)
		if off(float64(lost), loss*float64(entered)) > 0.05 || entered < n/2 {
			t.Errorf("loss %v: %d of %d frames were lost", loss, lost, entered)
		}
		if missing := entered - lost - len(got); missing < 0 || missing > own || entered+overrun < n || entered+overrun > n+own {
			t.Errorf("loss %v: %d frames entered and %d arrived of %d sent; %+v", loss, entered, len(got), n, after)
		}
		first += n
	}
}

// TestRateIsRight: a line empties its queue with as many bits a second as asked for, within 5 %.
func TestRateIsRight(t *testing.T) {
	f := open(t, "pair")
	a, b := socket(t, f, "n1"), socket(t, f, "n2")
	to := addressOf(f, "n2", b)
	const size, n = 1000, 3000
	for _, rate := range []float64{80e6, 400e6} {
		change(t, f, "n1-n2", link.Faults{Rate: rate, Queue: n})
		is, right := 0.0, false
		for try := 0; try < tries && !right; try++ {
			go blast(a, to, 0, n, size, 500)
			got, first, last := numbers(t, b, 200*time.Millisecond)
			is = float64(len(got)-1) * (size + 42) * 8 / last.Sub(first).Seconds()
			right = off(is, rate) < 0.05 && len(got) > n/2
			t.Logf("rate %v: %.4g", rate, is)
		}
		if !right {
			t.Errorf("rate %v: %.4g bit/s arrive", rate, is)
		}
	}
}

// TestSameSeed: the same seed loses the same datagrams, whatever the kernels say beside; another seed others.
func TestSameSeed(t *testing.T) {
	fate := func(seed int) []uint32 {
		f := open(t, fmt.Sprintf("seed: %d\nnodes: [n1, n2]\nswitches: [s]\nlinks: [{between: [n1, s], loss: 10%%}, {between: [s, n2], dup: 5%%, burst: 1%%/20%%}]", seed))
		a, b := socket(t, f, "n1"), socket(t, f, "n2")
		blast(a, addressOf(f, "n2", b), 0, 5000, 64, 128)
		got, _, _ := numbers(t, b, 200*time.Millisecond)
		if n := find(f, "n1-s").AB.Stats.Dropped; n > 0 {
			t.Fatalf("%d of 5000 frames found no room in an interface with room for %d", n, ringFrames)
		}
		return got
	}
	one, again, other := fate(7), fate(7), fate(8)
	if !slices.Equal(one, again) || len(one) < 3000 {
		t.Errorf("the same seed: %d and %d arrived", len(one), len(again))
	}
	if slices.Equal(one, other) {
		t.Error("another seed did the same")
	}
}

// TestProcessStays: no thread that stays in a node is the process' first, by whose namespace others take the process for one of the node's.
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
			t.Fatalf("the process was in %s and is in %s, %v", before, now, err)
		}
	}
}

// TestRemoved: a program that removes its node's interface costs the fabric one line in the log; the other nodes go on, and the loop sleeps when they do.
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
	roundTrip(t, from, addressOf(f, "n3", to), 100) // each is two turns of the loop or more
	if n := len(warnings); n > 0 {
		t.Errorf("%d more warnings", n)
	}
}

// lines is a writer that hands on each line, and drops what nobody takes.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

// TestNothingLeft: a fabric that was closed leaves no descriptor and no goroutine.
func TestNothingLeft(t *testing.T) {
	t.Run("first", func(t *testing.T) { open(t, "pair") }) // what the runtime opens once; closed now, for its loop opens what it waits with when it gets to run
	time.Sleep(time.Millisecond)                           // with the first timer the runtime opens its poller
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
			t.Error("the loop goes on")
		}
	}
	if after := files(); after > before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}
