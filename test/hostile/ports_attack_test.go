//go:build linux

package hostile

// Attackers of a listening port, in a process of their own. They come from many addresses of the loopback network.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/xnet/wire"
	rxd "gofabric/util/rxd/wire"
)

const attackVar = "HOSTILE_PORTS_CHILD"

// again is how long an attacker waits after its connection was closed or refused. It limits 10,000 attackers to 10,000
// connections a second.
const again = time.Second

// TestPortsAttacker is the attackers' process. It executes its parent's commands:
//
//	half|slow|noise|frames|dgrams ADDRESS ATTACKERS SOURCES RATE GREETING KIND     until
//	stop
func TestPortsAttacker(t *testing.T) {
	if os.Getenv(attackVar) != "attack" {
		t.Skip("runs only as a child of TestListeningPorts")
	}
	var a *attack
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "stop" {
			a.stop()
			fmt.Printf("OK %d connects, %d bytes\n", a.connects, a.bytes)
			continue
		}
		a = beginAttack(strings.Fields(in.Text()))
		fmt.Println("OK")
	}
}

// attack is an attack under way.
type attack struct {
	addr     netip.AddrPort
	sources  int
	rate     int // connections or datagrams a second of all attackers, 0: as many as possible
	hello    []byte
	kind     string
	ctx      context.Context
	cancel   context.CancelFunc
	done     sync.WaitGroup
	first    sync.WaitGroup // attackers that have not tried yet
	mu       sync.Mutex
	connects int
	bytes    int
	next     time.Time
}

// number parses a decimal from the parent.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// beginAttack starts the attack of a command. It returns when each attacker has tried once, or after some seconds.
func beginAttack(f []string) *attack {
	hello, err := hex.DecodeString(strings.TrimPrefix(f[5], "0x"))
	if err != nil {
		panic(err)
	}
	a := &attack{addr: netip.MustParseAddrPort(f[1]), sources: number(f[3]), rate: number(f[4]),
		hello: hello, kind: f[6], next: time.Now()}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	n := number(f[2])
	one := map[string]func(int, *net.TCPConn){"half": a.half, "slow": a.slow,
		"noise": a.noise, "frames": a.frames}[f[0]]
	for i := range n {
		a.done.Add(1)
		a.first.Add(1)
		go func() {
			defer a.done.Done()
			if one == nil {
				a.first.Done()
				a.dgrams(i)
				return
			}
			a.connect(i, one)
		}()
	}
	tried := make(chan struct{})
	go func() { a.first.Wait(); close(tried) }()
	select {
	case <-tried:
	case <-time.After(8 * time.Second): // the listen queue may be full
	}
	return a
}

// stop ends the attack.
func (a *attack) stop() {
	a.cancel()
	a.done.Wait()
}

// turn waits until the rate allows the next connection or datagram. It returns false when the attack ends.
func (a *attack) turn(n int) bool {
	if a.rate == 0 {
		return a.ctx.Err() == nil
	}
	a.mu.Lock()
	now := time.Now()
	if a.next.Before(now.Add(-50 * time.Millisecond)) {
		a.next = now
	}
	a.next = a.next.Add(time.Duration(n) * time.Second / time.Duration(a.rate))
	wait := a.next.Sub(now)
	a.mu.Unlock()
	return a.pause(wait)
}

func (a *attack) pause(d time.Duration) bool {
	if d <= 0 {
		return a.ctx.Err() == nil
	}
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// source returns an address of the attackers.
func (a *attack) source(i int) netip.Addr {
	k := i % a.sources
	return netip.AddrFrom4([4]byte{127, 240, byte(k >> 8), byte(k)})
}

// connect has an attacker connect repeatedly.
func (a *attack) connect(i int, one func(int, *net.TCPConn)) {
	d := net.Dialer{Timeout: 20 * time.Second, LocalAddr: &net.TCPAddr{IP: a.source(i).AsSlice()},
		Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) })
		}}
	first := true
	tried := func() {
		if first {
			first = false
			a.first.Done()
		}
	}
	defer tried()
	for a.turn(1) {
		c, err := d.DialContext(a.ctx, "tcp4", a.addr.String())
		tried()
		if err != nil {
			a.pause(again)
			continue
		}
		t := c.(*net.TCPConn)
		_ = t.SetLinger(0) // otherwise ports in TIME_WAIT would run out
		end := context.AfterFunc(a.ctx, func() { c.Close() })
		a.mu.Lock()
		a.connects++
		a.mu.Unlock()
		one(i, t)
		end()
		c.Close()
	}
}

// linger waits until the peer closes the connection or the attack ends, and then for a pause.
func (a *attack) linger(c *net.TCPConn) {
	io.Copy(io.Discard, c)
	a.pause(again)
}

// half sends nothing.
func (a *attack) half(_ int, c *net.TCPConn) { a.linger(c) }

// slow sends a greeting, then the bytes of the kind, one a second, repeatedly.
func (a *attack) slow(i int, c *net.TCPConn) {
	b := wire.AppendCM(nil, wire.CMConnReq, make([]byte, 200))
	if a.kind == "header" {
		c.Write(a.greeting(i))
		b = words(base(3, opTag, 0, 0, 0, 24, 24), 77)
	}
	closed := make(chan struct{})
	go func() { io.Copy(io.Discard, c); close(closed) }()
	a.pause(time.Duration(rand.Int64N(int64(time.Second))))
	for at := 0; ; at++ {
		if _, err := c.Write(b[at%len(b):][:1]); err != nil {
			break
		}
		select {
		case <-closed:
			a.pause(again)
			return
		case <-a.ctx.Done():
			<-closed
			return
		case <-time.After(time.Second):
		}
	}
	<-closed
}

// noise sends random bytes until the peer closes the connection, and continues at once with another.
func (a *attack) noise(_ int, c *net.TCPConn) {
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	for {
		n, err := c.Write(b)
		a.took(n)
		if err != nil {
			return
		}
		c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(b[:1]); !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

func (a *attack) took(n int) {
	a.mu.Lock()
	a.bytes += n
	a.mu.Unlock()
}

// greeting returns the kind's greeting. Each attacker has another identity in it.
func (a *attack) greeting(i int) []byte {
	b := append([]byte(nil), a.hello...)
	if n := bytes.Index(b, []byte{0x5a, 0x5a}); n > 0 {
		b[n], b[n+1] = byte(1+i>>8), byte(i)
	}
	return b
}

// frames sends a greeting, then frames without end.
func (a *attack) frames(i int, c *net.TCPConn) {
	go io.Copy(io.Discard, c)
	if _, err := c.Write(a.greeting(i)); err != nil {
		return
	}
	batch := junk(a.kind, uint64(i))
	for {
		n, err := c.Write(batch)
		a.took(n)
		if err != nil {
			a.pause(again / 10)
			return
		}
		if strings.HasPrefix(a.kind, "promise") {
			a.pause(10 * time.Millisecond)
			batch = batch[:1]
		}
	}
}

// junk returns messages of a kind.
func junk(kind string, seed uint64) (b []byte) {
	f := &forger{Rand: rand.New(rand.NewPCG(seed, 17)), key: 99}
	for len(b) < 256<<10 {
		switch kind {
		case "empty": // unexpected messages without payload
			b = append(b, words(base(3, opTag, 0, 0, 0, 24, 24), 77)...)
		case "large": // unexpected messages of 1 MiB
			b = append(append(b, words(base(3, opTag, 0, 0, 0, 24, 24+1<<20), 77)...), make([]byte, 1<<20)...)
		case "promise": // a length that is never sent
			return words(base(3, opTag, 0, 0, 0, 24, 1<<60), 77)
		case "writes": // to memory that the attackers may not write
			b = append(b, writeTo(0, 12345, make([]byte, 8))...)
		case "reads":
			h := wire.Header{Op: wire.OpReadReq, IovCnt: 1}
			h.IOV[0] = wire.RMAIov{Len: 8, Key: 54321}
			h.SetPayload(0)
			b = h.Append(b, wire.Little)
		case "atomics":
			h := wire.Header{Op: wire.OpAtomic, IovCnt: 1, OpData: 7}
			h.IOV[0] = wire.RMAIov{Len: 8, Key: 54321}
			h.SetPayload(8)
			b = append(h.Append(b, wire.Little), make([]byte, 8)...)
		default: // of all kinds, most of them invalid
			b = append(b, f.op()...)
		}
	}
	return b
}

// dgrams sends datagrams of a kind: noise, requests with forged cookies from forged addresses, or beginnings of such.
func (a *attack) dgrams(i int) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		return
	}
	defer c.Close()
	port := c.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	rng := rand.New(rand.NewPCG(uint64(i), 23))
	const burst = 20
	last := []byte{}
	for n := uint32(0); a.turn(burst); {
		for range burst {
			n++
			k := rng.Uint32()
			from := netip.AddrFrom4([4]byte{127, 241, byte(k >> 8), byte(k)})
			var b []byte
			switch a.kind {
			case "noise":
				b = make([]byte, 1+rng.IntN(1400))
				for j := range b {
					b[j] = byte(rng.Uint32())
				}
			case "data": // of the extension, for connections that do not exist
				b = seal(rxd.XHeader{Type: rxd.XData, ConnID: rng.Uint64(), Offset: uint64(n), Window: 1 << 20},
					make([]byte, 1000))
			case "endless": // operations of 2^60 bytes
				o := rxd.Op{Base: rxd.Base{Type: rxd.TypeTagged, Flags: rxd.FlagTag, Peer: rng.Uint32()}, Tag: 5,
					SAR: rxd.SAR{Size: 1 << 60, NumSegs: 1 << 50}}
				b = append(o.Append(nil), make([]byte, 1000)...)
			default: // native, requests, truncated, replay
				r := rxd.RTS{RTSAddr: uint64(n), Source: netip.AddrPortFrom(from, port)}
				b = r.Append(nil)
				if a.kind != "native" {
					x := rxd.Ext{ConnID: rng.Uint64() | 1, Epoch: rng.Uint64(), MaxDatagram: 9000, Window: 1 << 20,
						Nonce: rng.Uint64(), Cookie: rng.Uint64() * uint64(n&1)}
					b = x.Append(b)
				}
				if a.kind == "truncated" {
					b = b[:rng.IntN(len(b)+1)]
				}
				if a.kind == "replay" && len(last) > 0 && n%64 > 0 {
					b = last
				}
				last = b
			}
			cmsg := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: from.As4()})
			sent, _, _ := c.WriteMsgUDPAddrPort(b, cmsg, a.addr)
			a.took(sent)
		}
	}
}

// TestPortsDecoy is a process that serves no peer. It reads what arrives at its ports, and closes connections that
// begin with nonsense. An attack on it shows what the attack costs the machine without gofabric.
func TestPortsDecoy(t *testing.T) {
	if os.Getenv(attackVar) != "decoy" {
		t.Skip("runs only as a child of TestListeningPorts")
	}
	l, err := net.Listen("tcp4", "127.242.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(l.Addr().(*net.TCPAddr).AddrPort()))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		b := make([]byte, 1<<16)
		for {
			if _, _, err := u.ReadFromUDPAddrPort(b); err != nil {
				return
			}
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go take(c.(*net.TCPConn))
			}
		}
	}()
	fmt.Printf("ADDR %s\n", l.Addr())
	io.Copy(io.Discard, os.Stdin)
	l.Close()
	u.Close()
}

// take reads a connection of the decoy.
func take(c *net.TCPConn) {
	defer c.Close()
	b := make([]byte, 4096) // more would be a waste of memory
	for first := true; ; first = false {
		if n, err := c.Read(b); err != nil || first && n > 0 && b[0] != 3 {
			return
		}
	}
}
