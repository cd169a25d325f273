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

// nativeMost is the length of the longest message to and from native peers, in bytes.
const nativeMost = 1 << 20

// TestNative has native libfabric at one end. Clients of ours send messages to a native server and end in all ways.
// Native clients, some of which are killed, send to our server.
func TestNative(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short")
	}
	t.Parallel()
	if err := exec.Command("gcc", "-E", "-include", "rdma/fabric.h", "-x", "c", os.DevNull).Run(); err != nil {
		need.Missing(t, "there is no gcc, or no rdma/fabric.h: apt install gcc libfabric-dev (%v)", err)
	}
	bin := filepath.Join(t.TempDir(), "native")
	if out, err := exec.Command("gcc", "-Wall", "-O1", "-o", bin, "testdata/native.c",
		"-lfabric").CombinedOutput(); err != nil {
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
		if prov == "tcp" { // the name in libfabric 1.17, whose provider tcp has no RDM endpoints
			prov = "net"
		}
		w := way{stack: s, carrier: carrier{name: "native"}}
		for name, run := range map[string]func(*fleet, string, string, time.Duration){"server": (*fleet).toNative,
			"clients": (*fleet).fromNative} {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				y := &totals{t: t, events: map[eventKind]int{}}
				defer func() { addRow(s.name+" native "+name, y) }()
				f := newFleet(t, w, 1, seedOf(t), y)
				f.setup.Most = nativeMost
				// When a connection ends, in good order or not, native drops what it has not received
				// (docs/completion.md). Over datagrams it stops answering for seconds after a peer has died. Its peers
				// give it up, and what has not arrived is lost. What it has acknowledged must arrive.
				if name == "server" || s.datagrams() {
					begin(f.audit.troubles, serverOwner, 0)
				}
				run(f, bin, prov, long)
				f.settleNative(name == "server")
			})
		}
	}
}

// native returns a command that runs the native program.
func (f *fleet) native(bin, role, prov, port string, owner uint8, life uint16, more ...string) *exec.Cmd {
	args := []string{role, prov, f.site.addrs[0], port, journalName(f.setup.Dir, owner, life),
		fmt.Sprint(f.setup.Epoch), fmt.Sprint(f.setup.Most)}
	return exec.Command(bin, append(args, more...)...)
}

// toNative sends messages of our clients to a native server.
func (f *fleet) toNative(bin, prov string, long time.Duration) {
	_, port, _ := net.SplitHostPort(f.setup.Server)
	f.server = f.follow(f.native(bin, "server", prov, port, serverOwner, 1), serverOwner, 1)
	f.until("the native server is ready", patience, func() bool { return f.server.ready })
	rng := rand.New(rand.NewPCG(f.seed, 1))
	for end := f.now() + long; f.now() < end && !f.t.Failed(); f.turn() {
		if rng.IntN(20) == 0 {
			f.happen(event{kind: evClient, draw: rng.Uint64()})
		}
	}
}

// fromNative sends messages of native clients to our server.
func (f *fleet) fromNative(bin, prov string, long time.Duration) {
	s := f.setup
	s.Life = 1
	f.server = f.launch(serverVar, s, serverOwner)
	f.until("the server is ready", patience, func() bool { return f.server.ready })
	_, port, _ := net.SplitHostPort(f.setup.Server)
	rng := rand.New(rand.NewPCG(f.seed, 2))
	for end := f.now() + long; f.now() < end && !f.t.Failed(); f.turn() {
		if rng.IntN(20) != 0 {
			continue
		}
		f.bags++
		f.totals.events[evClient]++
		p := f.follow(f.native(bin, "client", prov, "0", nativeOwner, f.bags, fmt.Sprint(f.bags), port,
			fmt.Sprint(1+rng.IntN(60))), nativeOwner, f.bags)
		p.mortal = true
		if rng.IntN(2) == 0 {
			f.later(time.Duration(rng.Int64N(int64(time.Second))), func() {
				f.totals.events[evKill]++
				f.kill(p)
			})
		}
	}
}

// settleNative waits for messages that must still arrive, and ends the server, which may be native.
func (f *fleet) settleNative(native bool) {
	f.until("clients end", 4*bound, func() bool { return len(f.all) <= 1 && len(f.due) == 0 })
	for end := time.Now().Add(grace + 5*time.Second); ; f.turn() {
		f.audit.read()
		if f.audit.judge(f.now()-time.Second/2) == 0 || time.Now().After(end) {
			break
		}
	}
	switch f.server.mortal = true; {
	case !f.server.Running():
		f.totals.fault(hung, "the server has ended before it was told to")
	case f.way.datagrams() && native: // it may not return from a call while it waits for dead peers
		f.kill(f.server)
	default:
		f.server.Tell("quit")
	}
	f.until("the server ends", patience+closeBound, func() bool { return len(f.all) == 0 })
	f.audit.read()
	if f.totals.messages == 0 {
		f.t.Error("the server has received nothing")
	}
	f.t.Logf("%d messages of %d, %d failed", f.totals.messages, f.totals.posted, f.totals.failed)
}
