package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gofabric/test/need"
)

// nativeMost is the longest message to and from native peers, bytes.
const nativeMost = 1 << 20

// TestNative has native libfabric at one end: couriers of ours bring a native box messages and end in all ways, and native couriers, of which some are killed,
// bring ours.
func TestNative(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short")
	}
	t.Parallel()
	if err := exec.Command("gcc", "-E", "-include", "rdma/fabric.h", "-x", "c", os.DevNull).Run(); err != nil {
		need.Missing(t, "there is no gcc, or no rdma/fabric.h: apt install gcc libfabric-dev (%v)", err)
	}
	bin := filepath.Join(t.TempDir(), "native")
	if out, err := exec.Command("gcc", "-Wall", "-O1", "-o", bin, "testdata/native.c", "-lfabric").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer func() { t.Log(table(seedOf(t))) }()
	long := 2 * time.Second
	if need.Many() {
		long = 20 * time.Second
	}
	for i, s := range stacks[1:] {
		if i != 1 && !need.Many() {
			continue
		}
		prov := s.provider
		if prov == "tcp" { // 1.17 calls it so; what calls itself tcp there has no such endpoints
			prov = "net"
		}
		w := way{stack: s, carrier: carrier{name: "native"}}
		for name, run := range map[string]func(*fleet, string, string, time.Duration){"box": (*fleet).toNative, "couriers": (*fleet).fromNative} {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				y := &tally{t: t, events: map[eventKind]int{}}
				defer func() { addRow(s.name+" native "+name, y) }()
				f := newFleet(t, w, 1, seedOf(t), y)
				f.setup.Most = nativeMost
				// Native drops what it has not received when a connection ends, in good order or not (docs/completion.md). Over datagrams it stops answering for
				// seconds when a peer has died: it is given up, and loses what has not arrived. What it has acknowledged must come.
				if name == "box" || s.datagrams() {
					begin(f.audit.troubles, boxOwner, 0)
				}
				run(f, bin, prov, long)
				f.settleNative(name == "box")
			})
		}
	}
}

// native is a command.
func (f *fleet) native(bin, role, prov, port string, owner uint8, life uint16, more ...string) *exec.Cmd {
	args := []string{role, prov, f.ground.addrs[0], port, journalName(f.setup.Dir, owner, life), fmt.Sprint(f.setup.Epoch), fmt.Sprint(f.setup.Most)}
	return exec.Command(bin, append(args, more...)...)
}

// toNative sends couriers of ours to a native box.
func (f *fleet) toNative(bin, prov string, long time.Duration) {
	_, port, _ := net.SplitHostPort(f.setup.Box)
	f.box = f.follow(f.native(bin, "box", prov, port, boxOwner, 1), boxOwner, 1)
	f.until("the native box is ready", patience, func() bool { return f.box.ready })
	rng := rand.New(rand.NewPCG(f.seed, 1))
	for end := f.now() + long; f.now() < end && !f.t.Failed(); f.turn() {
		if rng.IntN(20) == 0 {
			f.happen(event{kind: evCourier, draw: rng.Uint64()})
		}
	}
}

// fromNative sends native couriers to our box.
func (f *fleet) fromNative(bin, prov string, long time.Duration) {
	s := f.setup
	s.Life = 1
	f.box = f.launch(boxVar, s, boxOwner)
	f.until("the box is ready", patience, func() bool { return f.box.ready })
	_, port, _ := net.SplitHostPort(f.setup.Box)
	rng := rand.New(rand.NewPCG(f.seed, 2))
	for end := f.now() + long; f.now() < end && !f.t.Failed(); f.turn() {
		if rng.IntN(20) != 0 {
			continue
		}
		f.bags++
		f.tally.events[evCourier]++
		p := f.follow(f.native(bin, "courier", prov, "0", nativeOwner, f.bags, fmt.Sprint(f.bags), port, fmt.Sprint(1+rng.IntN(60))), nativeOwner, f.bags)
		p.mortal = true
		if rng.IntN(2) == 0 {
			f.later(time.Duration(rng.Int64N(int64(time.Second))), func() {
				f.tally.events[evKill]++
				f.kill(p)
			})
		}
	}
}

// settleNative waits for what must still come, and ends the box, which may be native's.
func (f *fleet) settleNative(native bool) {
	f.until("couriers end", 4*bound, func() bool { return len(f.all) <= 1 && len(f.due) == 0 })
	for end := time.Now().Add(grace + 5*time.Second); ; f.turn() {
		f.audit.read()
		if f.audit.judge(f.now()-time.Second/2) == 0 || time.Now().After(end) {
			break
		}
	}
	switch f.box.mortal = true; {
	case !f.box.Running():
		f.tally.fault(hung, "the box has ended by itself")
	case f.way.datagrams() && native: // it may not come back from a call while it waits for the dead
		f.kill(f.box)
	default:
		f.box.Tell("quit")
	}
	f.until("the box ends", patience+closeBound, func() bool { return len(f.all) == 0 })
	f.audit.read()
	if f.tally.messages == 0 {
		f.t.Error("the box has received nothing")
	}
	f.t.Logf("%d messages of %d, %d failed", f.tally.messages, f.tally.posted, f.tally.failed)
}
