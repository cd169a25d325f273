//go:build linux && amd64

package netns

import (
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"gofabric/test/need"
	"gofabric/util/rxd/session"
	"gofabric/util/rxd/wire"
)

// copyMin is the length in bytes from which copies are counted. Shorter ones are headers, not payload.
const copyMin = 128

// regsCX is the offset of register CX in struct pt_regs, where a probe finds the registers of the interrupted code. CX
// has the length when runtime.memmove is entered (Go's internal/abi, ABIInternal on amd64).
const regsCX = 88

// copies counts the bytes that a process copies from now on, in all of its code, because runtime.memmove does all
// copies of some length. The returned function returns the count. Bytewise copies and system calls are not counted.
func (r *remote) copies() func() int {
	r.t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { m.Close() })
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, regsCX, asm.DWord),
		asm.JLT.Imm(asm.R2, copyMin, "end"),
		asm.LoadMapValue(asm.R1, m.FD(), 0),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { prog.Close() })
	x, err := link.OpenExecutable(os.Args[0])
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := x.Uprobe("memmove", prog, &link.UprobeOptions{Address: memmove(r.t), PID: r.Cmd.Process.Pid})
	if err != nil {
		need.Missing(r.t, "uprobes cannot be used here: %v", err)
	}
	r.t.Cleanup(func() { l.Close() })
	return func() int {
		r.t.Helper()
		b, err := m.LookupBytes(uint32(0))
		if err != nil {
			r.t.Fatal(err)
		}
		return int(binary.NativeEndian.Uint64(b))
	}
}

// memmove returns the offset of runtime.memmove in this program's file. go test strips symbols, so it looks the
// function up as tracebacks do.
func memmove(t *testing.T) uint64 {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	here := reflect.ValueOf(memmove).Pointer()
	for line := range strings.Lines(string(maps)) {
		var first, end, offset uintptr
		if _, err := fmt.Sscanf(line, "%x-%x r-xp %x", &first, &end, &offset); err != nil || here < first ||
			here >= end {
			continue
		}
		for pc := first; pc < end; pc += 16 { // functions are aligned to at least that
			if f := runtime.FuncForPC(pc); f != nil && f.Entry() == pc && f.Name() == "runtime.memmove" {
				return uint64(pc - first + offset)
			}
		}
	}
	t.Fatal("this program has no runtime.memmove")
	return 0
}

// TestXDPCopies counts copies with AF_XDP. The sender copies payload once, from the application's memory into frames.
// The receiver copies it once, from frames into the posted buffer. rxd copies small messages once more, to stage them
// (FI_OFI_RXD_STAGING_SIZE), and so does a receiver whose datagram arrives in several frames. Staged messages leave
// together, and the scheduler determines how many: see tails.
func TestXDPCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mtu, size, staged int
		out, in           float64 // how often payload is copied
	}{
		{mtu: 1500, size: 1300, out: 1, in: 1},
		{mtu: 1500, size: 20_000, out: 1, in: 1},
		{mtu: 1500, size: 200_000, staged: 4096, out: 1, in: 1},
		{mtu: 3400, size: 200_000, staged: 4096, out: 1, in: 1},
		{mtu: 1500, size: 1300, staged: 4096, out: 2, in: 1},
		{mtu: 9000, size: 200_000, staged: 4096, out: 1, in: 2},
	} {
		t.Run(fmt.Sprintf("%d/%d/%d", c.mtu, c.size, c.staged), func(t *testing.T) {
			t.Parallel()
			const count = 100
			a, b := newHosts(t)
			setMTU(c.mtu, a, b)
			// GSO batches would use a socket.
			env := []string{xdpLink, "FI_UDP_GSO=0", fmt.Sprintf("FI_OFI_RXD_STAGING_SIZE=%d", c.staged)}
			ra, rb := xdpPair(a, b, a.v4, b.v4, env, env)
			ra.bypassed(rb)
			rb.do("recv %d %d", c.size, 2*count) // more than are ever pending: no message is unexpected
			bulk := func(count int) {
				t.Helper()
				ra.do("bulk 0 %d %d", c.size, count)
				ra.want("BULK", long)
				ra.do("send 0 8")
				rb.want("RECEIVED 8", long) // and all before them
			}
			bulk(8)
			out, in := ra.copies(), rb.copies()
			sent, _, _ := ra.counts()
			bulk(count)
			now, _, _ := ra.counts()
			for who, n := range map[string][2]float64{"sender": {float64(out()), c.out},
				"receiver": {float64(in()), c.in}} {
				most := n[1] + 0.1
				if who == "sender" && c.staged >= c.size {
					most += tails(c.mtu, c.size)
				}
				if times := n[0] / float64(c.size*count); times < n[1]-0.1 || times > most {
					t.Errorf("the %s copied payload %.3f times, want %v", who, times, n[1])
				}
			}
			if n := int(now - sent); n < c.size*count/c.mtu {
				t.Errorf("%d datagrams bypassed the kernel's stack", n)
			}
		})
	}
}

// tails returns the largest part of the payload that can lie in last datagrams of at most engine.SmallMax bytes, when
// messages leave together as a stream. rxd copies these behind their headers, so they are copied once more.
func tails(mtu, size int) float64 {
	const headers = 20 + 8 + wire.XHeaderLen // IPv4, UDP, rxd
	worst := 0.0
	for together := 1; together <= 100; together++ {
		if tail := together * size % (mtu - headers); tail <= session.SmallMax {
			worst = max(worst, float64(tail)/float64(together*size))
		}
	}
	return worst
}
