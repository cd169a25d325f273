//go:build linux

package hostile

// Attacks on the port of an endpoint that serves honest peers: existing ones and new ones.

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
	"gofabric/test/need"
	"gofabric/test/program"
	rxm "gofabric/util/rxm/wire"
)

// portStacks are the kinds of endpoints that listen. The honest pair is in one process, and uses sockets, as with
// peers on other hosts.
func portStacks(t *testing.T) []conform.Stack {
	sockets := map[string]string{"FI_TCP_LOCAL_SOCKETS": "0", "FI_TCP_UNEXP_BYTES": "16777216",
		"FI_OFI_RXM_UNEXP_BYTES": "16777216"}
	return []conform.Stack{
		conform.Over(t, conform.Stack{Name: "tcp-msg", Provider: "tcp", EPType: core.EPTypeMsg,
			Caps: conform.MsgCaps}, sockets),
		conform.Over(t, conform.Stack{Name: "tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM,
			Caps: conform.RDMCaps}, sockets),
		conform.Over(t, conform.Stack{Name: "rxm", Provider: "tcp;ofi_rxm", EPType: core.EPTypeRDM,
			Caps: conform.RDMCaps}, sockets),
		conform.RXD(t, "rxd", "udp;ofi_rxd", "FI_UDP_LOCAL_MEMORY", "0", "FI_OFI_RXD_UNEXP_BYTES", "16777216"),
	}
}

// attackKind is one attack.
type attackKind struct {
	name     string
	how      string // the command for the attackers' process
	most     int    // attackers with GOFABRIC_MANY, otherwise a tenth of them
	rate     int    // connections or datagrams a second of all attackers, 0: as many as possible
	greets   bool   // they send a greeting, and may become peers
	features uint32
	kind     string
}

var tcpAttacks = []attackKind{
	{name: "10,000 half-open", how: "half", most: 10_000},
	{name: "10,000 slow requests, a byte a second", how: "slow", most: 10_000, kind: "request"},
	{name: "10,000 slow headers, a byte a second", how: "slow", most: 10_000, greets: true, kind: "header"},
	{name: "random bytes, 8 at a time", how: "noise", most: 8},
	{name: "empty messages without end", how: "frames", most: 4, greets: true, kind: "empty"},
	{name: "1 MiB messages without end", how: "frames", most: 4, greets: true, kind: "large"},
	{name: "2^60 bytes that are never sent", how: "frames", most: 4, greets: true, kind: "promise"},
	{name: "forbidden writes without end", how: "frames", most: 4, greets: true, features: withVerdicts, kind: "writes"},
	{name: "forbidden reads without end", how: "frames", most: 4, greets: true, features: withVerdicts, kind: "reads"},
	{name: "forbidden atomics without end", how: "frames", most: 4, greets: true, features: withVerdicts, kind: "atomics"},
	{name: "operations of all kinds", how: "frames", most: 4, greets: true,
		features: wire.FeatureExtended | wire.FeatureDirect, kind: "all"},
}

const dgramRate = 20_000

var udpAttacks = []attackKind{
	{name: "random datagrams", how: "dgrams", most: 2, rate: dgramRate, kind: "noise"},
	{name: "requests from forged addresses", how: "dgrams", most: 2, rate: dgramRate, kind: "requests"},
	{name: "native requests from forged addresses", how: "dgrams", most: 2, rate: dgramRate, kind: "native"},
	{name: "truncated requests", how: "dgrams", most: 2, rate: dgramRate, kind: "truncated"},
	{name: "repeated requests", how: "dgrams", most: 2, rate: dgramRate, kind: "replay"},
	{name: "data of no connection", how: "dgrams", most: 2, rate: dgramRate, kind: "data"},
	{name: "2^60 byte operations of no connection", how: "dgrams", most: 2, rate: dgramRate, kind: "endless"},
}

// attackKinds are the attacks on a stack.
func attackKinds(st conform.Stack) []attackKind {
	if strings.HasPrefix(st.Provider, "udp") {
		return udpAttacks
	}
	return tcpAttacks
}

// greeting returns the first bytes that attackers of a stack send.
func greeting(st conform.Stack, features uint32) []byte {
	var data []byte
	switch {
	case st.EPType == core.EPTypeMsg:
	case st.Provider == "tcp;ofi_rxm":
		c := rxm.Connect{Port: 0x5a5a, FlowCtrl: rxm.FlowCtrlOff, EagerLimit: rxm.BufferSize, RxSize: 128,
			Conn: rxm.ConnID(rand.Uint32(), 0)}
		data = c.Append(nil)
	default:
		data = wire.RDMBlob{Version: 1, Port: 0x5a5a, PID: rand.Uint32()}.Append(nil)
	}
	return wire.AppendCMFeatures(nil, wire.CMConnReq, features, data)
}

// attackedPair is an honest pair, with attackers and a decoy.
type attackedPair struct {
	*conform.Pair
	attackers, decoy child
	decoyAt          string
	peers            []*core.Endpoint // opened for attackers' requests
	buf              [2][64]byte
	es               []core.CQEntry
}

// portsChild starts a process of this test.
func portsChild(t *testing.T, test, role string) child {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=30m")
	cmd.Env = append(os.Environ(), attackVar+"="+role)
	return child{program.Talk(t, cmd)}
}

// openAttackedPair opens the pair, the attackers and the decoy.
func openAttackedPair(t *testing.T, st conform.Stack) *attackedPair {
	b := &attackedPair{attackers: portsChild(t, "TestPortsAttacker", "attack"),
		decoy: portsChild(t, "TestPortsDecoy", "decoy")}
	b.decoyAt = strings.TrimPrefix(b.decoy.Expect("ADDR "), "ADDR ")
	b.Pair = conform.Open(t, st, conform.WithCaps(core.CapTagged|core.CapRMA))
	b.Ping(1)
	return b
}

// begin starts an attack on endpoint B of the pair, or on the decoy.
func (b *attackedPair) begin(s attackKind, decoy bool) {
	at, n := b.B.Addr.IP.String(), s.most
	if decoy {
		at = b.decoyAt
	}
	if !need.Many() && n > 1000 {
		n /= 10
	}
	hello := "0x"
	if s.greets {
		hello += hex.EncodeToString(greeting(b.Stack, s.features))
	}
	kind := s.kind
	if kind == "" {
		kind = "none"
	}
	b.attackers.Tell(fmt.Sprintf("%s %s %d %d %d %s %s", s.how, at, n, 200, s.rate, hello, kind))
	b.attend("OK")
}

// attend serves honest peers until the attackers' process answers.
func (b *attackedPair) attend(words string) string {
	b.T.Helper()
	end := time.Now().Add(90 * time.Second)
	for time.Now().Before(end) {
		if line, err := b.attackers.Next(time.Millisecond); err == nil && strings.HasPrefix(line, words) {
			return line
		}
		b.serve(20)
	}
	b.T.Fatal("the attackers do not answer")
	return ""
}

// end ends an attack.
func (b *attackedPair) end() string {
	b.attackers.Tell("stop")
	line := b.attend("OK")
	for _, ep := range b.peers {
		if err := ep.Close(); err != nil {
			b.T.Errorf("Close: %v", err)
		}
	}
	b.peers = nil
	b.Forget()
	return line
}

// admit accepts connection requests as a server does: it opens an endpoint for each.
func (b *attackedPair) admit() {
	if b.B.EQ == nil {
		return
	}
	for {
		var ev core.EQEvent
		err := b.B.EQ.Read(&ev, 0)
		if err == core.ErrAvail {
			var e core.EQErrEntry
			b.B.EQ.ReadErr(&e, 0)
			continue
		}
		if err != nil {
			return
		}
		if ev.Type != core.EventConnReq {
			continue
		}
		ep, err := b.B.Domain.OpenEndpoint(ev.Info)
		if err != nil {
			continue // the peer has given up meanwhile
		}
		b.B.BindAll(ep)
		if err := ep.Enable(); err != nil {
			b.T.Fatalf("Enable: %v", err)
		}
		_ = ep.Accept(nil) // the peer may have given up
		b.peers = append(b.peers, ep)
	}
}

// serve has the honest pair exchange n messages in both directions.
func (b *attackedPair) serve(n int) {
	b.T.Helper()
	for i := range n {
		b.transfer(b.A, b.B, 0)
		b.transfer(b.B, b.A, 1)
		if i%16 == 0 {
			b.admit()
		}
	}
}

// transfer sends one message and waits for it, up to the deadline of the conformance tests.
func (b *attackedPair) transfer(from, to *conform.Side, i int) {
	b.T.Helper()
	const tag, ctx = 0xC0FFEE, 71
	post := func(what string, f func() error) {
		for end := time.Now().Add(conform.Deadline); ; {
			err := f()
			if err == nil {
				return
			}
			if err != core.ErrAgain || time.Now().After(end) {
				b.T.Fatalf("%s: %v", what, err)
			}
			b.look(from)
			b.look(to)
		}
	}
	post("trecv", func() error { return to.EP.TRecv(b.buf[i][:], 0, core.AddrUnspec, tag, 0, ctx) })
	post("tinject", func() error { return from.EP.TInject(b.buf[1-i][:], from.Peer, tag) })
	end := time.Now().Add(conform.Deadline)
	for n := 1; ; n++ {
		if b.look(to) {
			return
		}
		b.look(from)
		if n%1024 == 0 && time.Now().After(end) {
			b.T.Fatalf("an honest message has not arrived: %s", b.Dump())
		}
	}
}

// look reads a queue, and reports whether the message has arrived.
func (b *attackedPair) look(s *conform.Side) (got bool) {
	if b.es == nil {
		b.es = make([]core.CQEntry, 16)
	}
	n, err := s.RxCQ.Read(b.es)
	if err == core.ErrAvail {
		var e core.CQErrEntry
		s.RxCQ.ReadErr(&e)
		if e.Ctx == 71 {
			b.T.Fatalf("an honest operation failed: %v %s", e.Err, e.Detail)
		}
		return false
	}
	for _, e := range b.es[:max(n, 0)] {
		got = got || e.Ctx == 71
	}
	return got
}

// rate returns how many round trips the pair makes in a second of this process' processor time. (Other processes take
// their share of the wall clock.)
func (b *attackedPair) rate(d time.Duration) float64 {
	began, used := time.Now(), processorTime()
	n := 0
	for time.Since(began) < d {
		b.serve(16)
		n += 16
	}
	return float64(n) / (processorTime() - used).Seconds()
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// descriptors returns the number of open descriptors of this process.
func descriptors() int {
	n, _ := os.ReadDir("/proc/self/fd")
	return len(n)
}

// newcomer connects another honest peer, and returns how long that took.
func (b *attackedPair) newcomer(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	fresh(t, b.Pair)
	return time.Since(began)
}

// What an attack may cost at most. docs/security.md has these numbers.
const (
	silentMost  = 16384            // half-open connections kept
	silentBytes = 2048             // heap for each
	peerBytes   = 6144             // for each peer that has sent a greeting but not a whole message
	budget      = 16 << 20         // FI_*_UNEXP_BYTES of portStacks
	slack       = 4 << 20          // of the heap, for any attack
	enterWithin = 15 * time.Second // FI_TCP_CONNECT_TIMEOUT; over rxd FI_OFI_RXD_HANDSHAKE_TIMEOUT is less
)

// bounds returns how many descriptors and how much heap the attack may take.
func (s attackKind) bounds() (descriptors int, bytes int64) {
	n := s.most
	switch {
	case s.how == "dgrams":
		return 16, slack
	case s.kind == "header":
		return n + 64, int64(n)*peerBytes + slack
	case s.greets:
		return 64, 2*budget + slack // short messages take more memory than they count for
	}
	n = min(n, silentMost)
	return n + 64, int64(n)*silentBytes + slack
}

// liveHeap returns the size of the heap after a collection, in bytes.
func liveHeap() int64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// TestListeningPorts attacks the port of an endpoint of each kind. Honest messages arrive, new honest peers can
// connect, and the process keeps only bounded memory. docs/security.md has the results. GOFABRIC_MANY=1 uses all
// attackers of the tables.
func TestListeningPorts(t *testing.T) {
	for _, st := range portStacks(t) {
		t.Run(st.Name, func(t *testing.T) {
			for _, s := range attackKinds(st) {
				t.Run(s.name, func(t *testing.T) { testAttack(t, st, s) })
			}
		})
	}
}

// testAttack runs one attack and checks its effects.
func testAttack(t *testing.T, st conform.Stack, s attackKind) {
	conform.NoLeaks(t)
	b := openAttackedPair(t, st)
	before, fds, routines := liveHeap(), descriptors(), runtime.NumGoroutine()
	b.begin(s, false)
	b.rate(300 * time.Millisecond)
	kept, grown := descriptors()-fds, liveHeap()-before
	if n := runtime.NumGoroutine() - routines; n > 20 {
		t.Errorf("%d goroutines more than before", n)
	}
	in := b.newcomer(t)
	line := b.end()
	b.Ping(2)
	t.Logf("PORTS %-8s %-42s %5d descriptors, %6d KiB, newcomer %v; %s", st.Name, s.name, kept, grown>>10,
		in.Round(time.Millisecond), line)
	most, bytes := s.bounds()
	if kept > most || grown > bytes {
		t.Errorf("%d descriptors and %d KiB; bounds are %d and %d", kept, grown>>10, most, bytes>>10)
	}
	if in > enterWithin {
		t.Errorf("a new peer was connected after %v", in)
	}
	b.Forget()
	b.attackers.HangUp()
	b.decoy.HangUp()
}
