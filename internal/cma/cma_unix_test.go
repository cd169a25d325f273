//go:build unix

package cma

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// payload returns the memory that the child lends.
func payload() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 1000) }

var childChallenge = [engine.SealLen]byte{1, 2, 3, 4, 5, 6, 7, 8}

// system has the parts of the child that depend on the system.
var system struct {
	become func(t *testing.T, cmd *exec.Cmd, uid int)
	double func()
	show   func(in *bufio.Scanner)
}

// TestMain is also the child of TestOtherProcess and TestScribbled.
func TestMain(m *testing.M) {
	if os.Getenv("GOFABRIC_CMA_CHILD") == "" {
		os.Exit(m.Run())
	}
	lend()
}

// lend is the child. It executes the commands that it reads, and prints where its memory is, until the end of its
// input.
func lend() {
	k := Copier{}.NewSeals().(*kept)
	mem, seals := payload(), k.seals
	word := make([]byte, 8) // the number of the message whose memory is lent
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, at := uint64(0), uint64(0)
		from := mem
		switch in.Text() {
		case "lend":
			n, at = seals.Set(7, &childChallenge)
		case "break":
			seals.Break(7)
			for i := range mem {
				mem[i] = '!'
			}
			copy(mem, payload())
		case "double":
			system.double()
		case "show": // does not print where memory is
			system.show(in)
			continue
		case "churn":
			from = word
			go churn(mem, seals, word)
		}
		fmt.Println(Copier{}.Address(from), at, n)
	}
	runtime.KeepAlive(mem)
	runtime.KeepAlive(k)
}

// churn repeats without end: it lends mem, every byte of which is the number of the message, takes it back and
// overwrites it.
func churn(mem []byte, seals *seals, word []byte) {
	for next := seals[7].number.Load(); ; {
		next = little(little(next)&^1) + 2
		fill(mem, byte(next/2)) // this process sends no other messages
		n, _ := seals.Set(7, &childChallenge)
		binary.NativeEndian.PutUint64(word, n)
		for range 1000 << (n / 2 % 8) { // time for the peer to copy
			issued.Load()
		}
		seals.Break(7)
		fill(mem, byte(n/2)+100)
		next = little(n)
	}
}

func fill(mem []byte, b byte) {
	for i := range mem {
		mem[i] = b
	}
}

func copier(t *testing.T) Copier {
	t.Helper()
	if New() == nil {
		if runtime.GOOS == "linux" {
			t.Fatal("this process could not identify itself (/proc): nothing would be copied from other processes")
		}
		t.Skip("only Linux copies from other processes")
	}
	return Copier{}
}

// own returns address ranges in this process.
func own(parts ...[]byte) (from []wire.RMAIov) {
	for _, b := range parts {
		from = append(from, wire.RMAIov{Addr: Copier{}.Address(b), Len: uint64(len(b))})
	}
	return from
}

func TestOwnMemory(t *testing.T) {
	p := copier(t)
	src, dst := payload(), make([]byte, 100)
	challenge := [engine.SealLen]byte{9, 8, 7, 6, 5, 4, 3, 2}
	seals := p.NewSeals()
	number, at := seals.Set(200, &challenge)
	l := engine.CMARequest{PID: uint32(os.Getpid()), Seal: wire.Seal(&challenge, number), SealAt: at,
		From: own(src[5:65], src[500:540]), Into: [][]byte{dst[:10], dst[10:]}}
	if got := p.Copy(&l); got != engine.Copied {
		t.Fatal("reading this process' own memory failed: ", got)
	}
	if want := string(src[5:65]) + string(src[500:540]); string(dst) != want {
		t.Errorf("%q, want %q", dst, want)
	}
	for name, c := range map[string]struct {
		change func(l *engine.CMARequest)
		want   engine.CMAResult
	}{
		"another challenge": {func(l *engine.CMARequest) { l.Seal[0]++ }, engine.Unsealed},
		"another number":    {func(l *engine.CMARequest) { l.Seal[8]++ }, engine.Unsealed},
		"no such memory": {func(l *engine.CMARequest) { l.From = []wire.RMAIov{{Addr: 8, Len: 100}} },
			engine.Unreadable},
		"no such memory, and broken": {func(l *engine.CMARequest) {
			l.Seal[8]++
			l.From = []wire.RMAIov{{Addr: 8, Len: 100}}
		}, engine.Unsealed},
		"no such seal":    {func(l *engine.CMARequest) { l.SealAt = 8 }, engine.Unreadable},
		"no such process": {func(l *engine.CMARequest) { l.PID = 1 << 30 }, engine.Unreadable},
		"too many ranges": {func(l *engine.CMARequest) { l.From = make([]wire.RMAIov, maxParts) }, engine.Unreadable},
		"too many parts":  {func(l *engine.CMARequest) { l.Into = make([][]byte, maxParts) }, engine.Unreadable},
	} {
		bad := l
		c.change(&bad)
		if got := p.Copy(&bad); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	seals.Break(200)
	if got := p.Copy(&l); got != engine.Unsealed {
		t.Errorf("broken: %v", got)
	}
	again, at2 := seals.Set(200, &challenge)
	if again == number || at2 != at {
		t.Errorf("number %d after %d, at %#x after %#x", again, number, at2, at)
	}
	if got := p.Copy(&l); got != engine.Unsealed {
		t.Errorf("the seal of another message was accepted: %v", got)
	}
	l.Seal = wire.Seal(&challenge, again)
	if got := p.Copy(&l); got != engine.Copied {
		t.Errorf("set again: %v", got)
	}
	runtime.KeepAlive(seals)
}

// The number in a broken seal is not the number of another seal, nor of a later one.
func TestSealNumbers(t *testing.T) {
	s, other := new(seals), new(seals)
	var challenge [engine.SealLen]byte
	seen := map[uint64]bool{}
	for range 100 {
		for _, m := range []*seals{s, other} {
			n, _ := m.Set(3, &challenge)
			if seen[n] || little(m[3].number.Load()) != n {
				t.Fatalf("number %d", n)
			}
			seen[n] = true
			for range 2 {
				m.Break(3)
				b := little(m[3].number.Load())
				if b <= n || seen[b] {
					t.Fatalf("broken, %d holds %d", n, b)
				}
			}
			seen[n+1] = true
		}
	}
}

// child is another process that lends its memory.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	l   engine.CMARequest
}

func startChild(t *testing.T) *child { return startChildOf(t, os.Geteuid()) }

// startChildOf starts a child with the rights of a user.
func startChildOf(t *testing.T, uid int) *child {
	t.Helper()
	copier(t)
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	if uid != os.Geteuid() {
		system.become(t, c.cmd, uid)
	}
	c.cmd.Env = append(os.Environ(), "GOFABRIC_CMA_CHILD=1")
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		in.Close()
		c.cmd.Wait()
	})
	return c
}

// tell sends a command to the child, and waits until it has lent its memory again.
func (c *child) tell(word string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, word+"\n"); err != nil {
		c.t.Fatal(err)
	}
	var mem, at, number uint64
	line, err := c.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &mem, &at, &number)
	}
	if err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	n := uint64(len(payload()))
	c.l = engine.CMARequest{PID: uint32(c.cmd.Process.Pid), Seal: wire.Seal(&childChallenge, number), SealAt: at,
		From: []wire.RMAIov{{Addr: mem, Len: n}}, Into: [][]byte{make([]byte, n)}}
}

func TestOtherProcess(t *testing.T) {
	c := startChild(t)
	p := Copier{}
	c.tell("lend")
	if p.Copy(&c.l) != engine.Copied {
		forbidden(t, c.cmd.Process.Pid, c.l.From[0].Addr) // otherwise the system allows it, and this package fails
	}
	if !bytes.Equal(c.l.Into[0], payload()) {
		t.Error("wrong content")
	}
	before := c.l
	c.tell("break")
	if got := p.Copy(&before); got != engine.Unsealed {
		t.Errorf("after the seal was broken: %v", got)
	}
	c.tell("lend")
	if got := p.Copy(&before); got != engine.Unsealed {
		t.Errorf("with the seal of a later message: %v", got)
	}
	if got := p.Copy(&c.l); got != engine.Copied {
		t.Errorf("lent again: %v", got)
	}
	c.cmd.Process.Signal(syscall.SIGSTOP)
	if got := p.Copy(&c.l); got != engine.Copied {
		t.Errorf("a stopped process: %v", got)
	}
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if got := p.Copy(&c.l); got != engine.Unreadable {
		t.Errorf("a process that has ended: %v", got)
	}
}

// A process repeatedly breaks its seals and overwrites its memory at once. No copy taken during that is accepted: a
// copy with a whole seal is one message.
func TestScribbled(t *testing.T) {
	c := startChild(t)
	p := Copier{}
	c.tell("lend")
	if p.Copy(&c.l) != engine.Copied {
		forbidden(t, c.cmd.Process.Pid, c.l.From[0].Addr)
	}
	l := c.l
	// The child prints the place of the current message's number. When the test reads the place, it is often out of
	// date.
	c.tell("churn")
	hint := engine.CMARequest{PID: l.PID, SealAt: l.SealAt, From: []wire.RMAIov{{Addr: c.l.From[0].Addr, Len: 8}},
		Into: [][]byte{make([]byte, 8)}}
	var count [3]int
	for n := 0; n < 200000 && (count[engine.Copied] < 1000 || count[engine.Unsealed] < 1000); n++ {
		p.Copy(&hint) // the result for the seal does not matter
		number := binary.NativeEndian.Uint64(hint.Into[0])
		l.Seal = wire.Seal(&childChallenge, number)
		got := p.Copy(&l)
		count[got]++
		if got != engine.Copied {
			continue
		}
		for i, b := range l.Into[0] {
			if b != byte(number/2) {
				t.Fatalf("message %d has %d at %d after %v copies", number, b, i, count)
			}
		}
	}
	t.Logf("%d copied, %d broken", count[engine.Copied], count[engine.Unsealed])
	if count[engine.Copied] == 0 || count[engine.Unsealed] == 0 || count[engine.Unreadable] != 0 {
		t.Errorf("%v: nothing was shown", count)
	}
}

func TestNoAlloc(t *testing.T) {
	p := copier(t)
	src, dst := payload(), make([]byte, 100)
	challenge := [engine.SealLen]byte{9, 8, 7, 6, 5, 4, 3, 2}
	seals := p.NewSeals()
	l := engine.CMARequest{PID: uint32(os.Getpid()), From: own(src[:100]), Into: [][]byte{dst}}
	if n := testing.AllocsPerRun(100, func() {
		number, at := seals.Set(1, &challenge)
		l.Seal, l.SealAt = wire.Seal(&challenge, number), at
		if p.Copy(&l) != engine.Copied {
			t.Error("not copied")
		}
		seals.Break(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
