package fabrictest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/fabrictest"
	"gofabric/internal/mono"
	"gofabric/internal/transport/datagram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a port that records the datagrams that it receives.
type peer struct {
	dom  datagram.Domain
	port datagram.Port
	got  chan arrival
	bad  error
	free chan struct{} // Writable
	// answer reports whether to answer a datagram with its first byte. echo sends all of it back.
	answer func(b []byte) bool
	echo   bool
	runs   int
}

type arrival struct {
	from netip.AddrPort
	b    []byte
	at   mono.Time
}

func (p *peer) Received(from netip.AddrPort, b []byte, seg int) {
	p.runs++
	for len(b) > 0 || seg == 0 {
		n := min(seg, len(b))
		p.got <- arrival{from, bytes.Clone(b[:n]), mono.Now()}
		if p.echo {
			p.port.Send(from, [][]byte{b[:n]}, 0)
		}
		if p.answer != nil && p.answer(b[:n]) {
			p.port.Send(from, [][]byte{b[:1]}, 0)
		}
		if b = b[n:]; n == 0 {
			break
		}
	}
}
func (p *peer) Drained() {}
func (p *peer) Writable() {
	select {
	case p.free <- struct{}{}:
	default:
	}
}
func (p *peer) Lost(err error) { p.bad = err }

// open opens a port of a stack on a node.
func open(t testing.TB, n *fabrictest.Node, stack string) *peer {
	t.Helper()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type = stack, core.EPTypeDgram
	infos, _, err := n.GetInfo(core.Query{Hints: hints})
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := n.OpenFabric(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	dom, err := fabric.OpenDomain(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{dom: dom.Driver().(datagram.Domain), got: make(chan arrival, 1<<16), free: make(chan struct{}, 1)}
	if p.port, err = p.dom.OpenPort(infos[0], p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.dom.Progress().Lock()
		err := p.port.Close()
		p.dom.Progress().Unlock()
		if err != nil {
			t.Errorf("close the port: %v", err)
		}
		if err := dom.Close(); err != nil {
			t.Errorf("close the domain: %v", err)
		}
		if err := fabric.Close(); err != nil {
			t.Errorf("close the fabric: %v", err)
		}
	})
	return p
}

func (p *peer) send(to *peer, seg int, parts ...[]byte) error {
	p.dom.Progress().Lock()
	defer p.dom.Progress().Unlock()
	return p.port.Send(to.port.Local(), parts, seg)
}

func number(i int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(i)) }

// TestPorts sends and receives single datagrams, runs and empty ones, inside a bubble of testing/synctest and
// outside.
func TestPorts(t *testing.T) {
	test := func(t *testing.T) {
		net := fabrictest.New(t, 2, fabrictest.Config{})
		for _, stack := range []string{"mem", "mem;fault"} {
			a, b := open(t, net.Node(0), stack), open(t, net.Node(1), stack)
			for _, want := range []string{"hello", "", "world"} {
				if err := a.send(b, 0, []byte(want[:len(want)/2]), nil, []byte(want[len(want)/2:])); err != nil {
					t.Fatal(err)
				}
				if in := <-b.got; string(in.b) != want || in.from != a.port.Local() {
					t.Errorf("%s: %q from %v", stack, in.b, in.from)
				}
			}
			b.dom.Progress().Lock()
			runs := b.runs
			b.dom.Progress().Unlock()
			if err := a.send(b, 3, []byte("abcd"), []byte("efgh")); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"abc", "def", "gh"} {
				if in := <-b.got; string(in.b) != want {
					t.Errorf("%s: %q of a run, want %q", stack, in.b, want)
				}
			}
			b.dom.Progress().Lock()
			b.echo = true
			b.dom.Progress().Unlock()
			a.send(b, 0, []byte("ping"))
			if in := <-a.got; string(in.b) != "ping" {
				t.Errorf("echo %q", in.b)
			}
			b.dom.Progress().Lock()
			if b.runs != runs+2 {
				t.Errorf("%s: the run came in %d pieces", stack, b.runs-runs-1)
			}
			s := b.port.Stats()
			b.dom.Progress().Unlock()
			if s.ReceivedDatagrams != 7 || s.ReceivedBytes != 22 || s.SentDatagrams != 1 {
				t.Errorf("%s: %+v", stack, s)
			}
			if err := a.send(b, 0, make([]byte, 1473)); !errors.Is(err, core.ErrMsgSize) {
				t.Errorf("a datagram too long: %v", err)
			}
			a.dom.Progress().Lock()
			err := a.port.Send(netip.MustParseAddrPort("10.0.0.2:1"), [][]byte{{1}}, 0)
			a.dom.Progress().Unlock()
			if err != nil {
				t.Errorf("send to an address without a port: %v", err)
			}
		}
	}
	t.Run("real", test)
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, test) })
}

// TestTime checks delays, rates and partitions in virtual time, to the nanosecond.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := fabrictest.New(t, 3, fabrictest.Config{})
		a, b, c := open(t, net.Node(0), "mem"), open(t, net.Node(1), "mem"), open(t, net.Node(2), "mem")
		net.SetFaults(fabrictest.Faults{Delay: time.Hour})
		began := mono.Now()
		a.send(b, 0, number(1))
		time.Sleep(time.Minute)
		net.Link(0, 1).Set(fabrictest.Faults{Delay: time.Second})
		a.send(b, 0, number(2))
		first, second := <-b.got, <-b.got
		if d := first.at.Sub(began); d != time.Minute+time.Second || !bytes.Equal(first.b, number(2)) {
			t.Errorf("%v after %v", first.b, d)
		}
		if d := second.at.Sub(began); d != time.Hour {
			t.Errorf("%v after %v", second.b, d)
		}
		net.SetFaults(fabrictest.Faults{Rate: 8000})
		began = mono.Now()
		for range 3 {
			a.send(b, 0, make([]byte, 500))
		}
		for i := range 3 {
			if in := <-b.got; in.at.Sub(began) != time.Duration(i+1)*time.Second/2 {
				t.Errorf("at the rate of the link, number %d came after %v", i, in.at.Sub(began))
			}
		}
		net.SetFaults(fabrictest.Faults{})
		reaches := func(x, y *peer) bool {
			x.send(y, 0, number(3))
			synctest.Wait()
			select {
			case <-y.got:
				return true
			default:
				return false
			}
		}
		net.Partition([]int{0})
		if reaches(a, b) || reaches(b, a) || !reaches(b, c) || !reaches(a, a) {
			t.Error("the partition separates other nodes")
		}
		net.Partition([]int{0}, []int{1, 2})
		if reaches(a, c) || !reaches(c, b) {
			t.Error("the second partition separates other nodes")
		}
		net.Heal()
		net.Link(0, 1).Down(true)
		if reaches(a, b) || !reaches(b, a) || !reaches(a, c) {
			t.Error("not exactly the link from 0 to 1 is down")
		}
		net.Link(0, 1).Down(false)
		if !reaches(a, b) {
			t.Error("the link stays down")
		}
		if s := net.Link(0, 1).Stats(); s.Cut != 2 || s.Sent != 8 {
			t.Errorf("%+v", s)
		}
	})
}

// TestFaults: the faults on links depend only on the seed.
func TestFaults(t *testing.T) {
	run := func(seed uint64) (text string) {
		synctest.Test(t, func(t *testing.T) {
			net := fabrictest.New(t, 2, fabrictest.Config{Seed: seed,
				Faults: fabrictest.Faults{Loss: 0.1, Dup: 0.1, Reorder: 0.1, Corrupt: 0.1,
					Jitter: 50 * time.Microsecond}})
			a, b := open(t, net.Node(0), "mem"), open(t, net.Node(1), "mem")
			for i := range 500 {
				a.send(b, 8, append(number(2*i), make([]byte, 4)...), number(2*i+1))
				time.Sleep(10 * time.Microsecond)
			}
			time.Sleep(time.Second)
			for len(b.got) > 0 {
				in := <-b.got
				text += fmt.Sprint(in.at, in.b, "\n")
			}
			s := net.Stats()
			text += fmt.Sprintf("%+v", s)
			if s.Sent != 1000 || s.Lost < 50 || s.Duplicated < 50 || s.Reordered < 50 || s.Corrupted < 50 ||
				s.Cut+s.Overflows != 0 {
				t.Error(text)
			}
		})
		return text
	}
	a, b, c := run(1), run(1), run(2)
	if a != b {
		t.Error("the same seed had another result")
	}
	if a == c {
		t.Error("another seed had the same result")
	}
}

// TestCrash: a node that has crashed sends nothing, and its address is free.
func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := fabrictest.New(t, 2, fabrictest.Config{Faults: fabrictest.Faults{Delay: time.Millisecond}})
		a, b := open(t, net.Node(0), "mem"), open(t, net.Node(1), "mem")
		a.send(b, 0, number(1))
		net.Node(1).Crash()
		b.send(a, 0, number(2))
		time.Sleep(time.Second)
		if len(a.got)+len(b.got) != 0 || len(net.Node(1).Ports()) != 0 {
			t.Error("a crashed node is on the network")
		}
		info := &core.Info{SrcAddr: core.IPAddr(b.port.Local())}
		again := &peer{got: make(chan arrival, 1)}
		if _, err := a.dom.OpenPort(info, again); err == nil {
			t.Fatal("a port was opened at the address of another node")
		}
		port, err := b.dom.OpenPort(info, again)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.dom.OpenPort(info, again); !errors.Is(err, core.ErrAddrInUse) {
			t.Errorf("open at an address in use: %v", err)
		}
		a.send(b, 0, number(3))
		if in := <-again.got; !bytes.Equal(in.b, number(3)) {
			t.Errorf("%v", in.b)
		}
		b.dom.Progress().Lock()
		defer b.dom.Progress().Unlock()
		if err := port.Close(); err != nil {
			t.Error(err)
		}
		if port.Close() == nil || port.Send(a.port.Local(), nil, 0) == nil {
			t.Error("a call of a closed port succeeds")
		}
	})
}

// TestBusy: a port that is busy reports when it accepts datagrams again, also through a layer. No datagram is lost or
// duplicated.
func TestBusy(t *testing.T) {
	for _, stack := range []string{"mem", "mem;fault"} {
		synctest.Test(t, func(t *testing.T) {
			net := fabrictest.New(t, 2, fabrictest.Config{Busy: 0.5,
				Params: map[string]string{"FI_FAULT_DUP": "20%", "FI_FAULT_DELAY": "1us"}})
			a, b := open(t, net.Node(0), stack), open(t, net.Node(1), stack)
			busy := 0
			for i := range 200 {
				for {
					err := a.send(b, 4, append(number(3*i), number(3*i+1)...), number(3*i+2))
					if err == nil {
						break
					}
					if busy++; err != core.ErrAgain {
						t.Fatal(err)
					}
					<-a.free
				}
			}
			time.Sleep(time.Second)
			seen := map[uint32]bool{}
			for len(b.got) > 0 {
				in := <-b.got
				seen[binary.LittleEndian.Uint32(in.b)] = true
			}
			if len(seen) != 600 || busy < 50 && stack == "mem" {
				t.Errorf("%s: %d of 600 arrived, %d times busy", stack, len(seen), busy)
			}
		})
	}
}

// TestOverflow: a port that is not read keeps no more than its buffer.
func TestOverflow(t *testing.T) {
	net := fabrictest.New(t, 2, fabrictest.Config{Buffer: 100_000, Faults: fabrictest.Faults{Delay: time.Hour}})
	a, b := open(t, net.Node(0), "mem"), open(t, net.Node(1), "mem")
	for range 1000 {
		if err := a.send(b, 0, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	b.dom.Progress().Lock()
	defer b.dom.Progress().Unlock()
	if s := b.port.Stats(); s.Overflows < 910 || s.ReceivedDatagrams != 0 {
		t.Errorf("%+v", s)
	}
}

// TestAllocs: a datagram allocates nothing.
func TestAllocs(t *testing.T) {
	net := fabrictest.New(t, 2, fabrictest.Config{Faults: fabrictest.Faults{Loss: 0.01, Dup: 0.01, Reorder: 0.01,
		Corrupt: 0.01}})
	for _, stack := range []string{"mem", "mem;fault"} {
		a, b := open(t, net.Node(0), stack), open(t, net.Node(1), stack)
		d := &drain{}
		b2, err := b.dom.OpenPort(nil, d)
		if err != nil {
			t.Fatal(err)
		}
		parts := [][]byte{make([]byte, 40), make([]byte, 1000)}
		step := func() {
			a.dom.Progress().Lock()
			a.port.Send(b2.Local(), parts, 0)
			a.dom.Progress().Unlock()
			b.dom.Progress().Lock()
			b2.Poll()
			b.dom.Progress().Unlock()
		}
		for range 1000 {
			step()
		}
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s: %v allocations per datagram", stack, n)
		}
		b.dom.Progress().Lock()
		b2.Close()
		b.dom.Progress().Unlock()
	}
}

type drain struct{ n int }

func (d *drain) Received(netip.AddrPort, []byte, int) { d.n++ }
func (d *drain) Drained()                             {}
func (d *drain) Writable()                            {}
func (d *drain) Lost(error)                           {}
