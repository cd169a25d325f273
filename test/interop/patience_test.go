package interop

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is the time limit of a wait. Time in which this process, and so its peers, did not run does not count: the
// machine may have been suspended, or busy with other processes. A separate goroutine, the witness, counts how often
// it runs. The time of a call that blocks this thread does count.
type patience struct{ until int64 }

const witnessEvery = 50 * time.Millisecond

// witnessed returns the counter of the witness.
var witnessed = sync.OnceValue(func() *atomic.Int64 {
	n := new(atomic.Int64)
	go func() {
		for range time.Tick(witnessEvery) { // the ticker drops ticks for a slow receiver
			n.Add(1)
		}
	}()
	return n
})

func newPatience() patience { return patience{witnessed().Load() + int64(waitLimit/witnessEvery)} }

// ended reports whether the time is over.
func (p patience) ended() bool { return witnessed().Load() >= p.until }

// queues lists the bytes that wait in the TCP sockets of this process and in those of its peers, "" where that is
// unknown. The process that should read them is the one that hangs.
func queues() string {
	own := map[string]bool{}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		if s, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(s, "socket:[") {
			own[strings.TrimSuffix(strings.TrimPrefix(s, "socket:["), "]")] = true
		}
	}
	// proc(5): local and remote address, state, bytes to be sent and to be received, ..., inode.
	table, _ := os.ReadFile("/proc/self/net/tcp")
	type socket struct{ local, remote, queues string }
	var all, ours []socket
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "01" { // state ESTABLISHED
			continue
		}
		s := socket{f[1], f[2], f[4]}
		if all = append(all, s); own[f[9]] {
			ours = append(ours, s)
		}
	}
	var b strings.Builder
	for _, s := range ours {
		for _, p := range all {
			if p.local == s.remote && p.remote == s.local {
				fmt.Fprintf(&b, "\n%s to %s: tx:rx here %s, there %s", s.local, s.remote, s.queues, p.queues)
			}
		}
	}
	return b.String()
}

// TestQueues leaves bytes in the queue of one end of a connection.
func TestQueues(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self/net/tcp")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := c.Write(make([]byte, 0x1235)); err != nil {
		t.Fatal(err)
	}
	if s := queues(); !strings.Contains(s, "tx:rx here 00000000:00000000, there 00000000:00001235") {
		t.Errorf("0x1235 bytes wait; queues says %q", s)
	}
}

// TestPatience checks that a wait ends by the time in which the process ran, also without calls, and not by the time
// in which it did not.
func TestPatience(t *testing.T) {
	p, began := newPatience(), time.Now()
	if p.ended() {
		t.Error("the wait ended at once")
	}
	p.until = witnessed().Load() + 10
	time.Sleep(12 * witnessEvery) // as in a long call: the clock continues
	for !p.ended() {
		if time.Since(began) > waitLimit {
			t.Fatal("the wait never ends")
		}
		time.Sleep(witnessEvery) // the clock that is tested moves so often
	}
	if d := time.Since(began); d < 9*witnessEvery {
		t.Errorf("the wait ended after %v", d)
	}
}
