//go:build unix

package netx

import (
	"bytes"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestVectorsAcrossShortCalls pushes random buffers through a stream whose kernel buffers are small, with random
// lists on either side.
func TestVectorsAcrossShortCalls(t *testing.T) {
	// A pair of local sockets makes short calls as TCP with small buffers does, without its delays.
	ends, err := unix.Socketpair(unix.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	c, s := closeLater(t, FD(ends[0])), closeLater(t, FD(ends[1]))
	must(t, unix.SetNonblock(int(c), true))
	must(t, unix.SetNonblock(int(s), true))
	must(t, SetBuffers(c, 4<<10, 0))
	must(t, SetBuffers(s, 0, 4<<10))
	shortSends := 0
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9000), 1, 40).Draw(rt, "send sizes")
		chunk := rapid.IntRange(1, 5000).Draw(rt, "receive size")
		var want []byte
		out, in := NewIOV(len(sizes)), NewIOV(8)
		var parts [][]byte
		for i, n := range sizes {
			parts = append(parts, bytes.Repeat([]byte{byte(i + 1)}, n))
			want = append(want, parts[i]...)
		}
		sent := 0
		got := make([]byte, len(want))
		at := 0
		for at < len(want) {
			if sent < len(want) {
				out.Reset()
				done := sent
				for _, p := range parts {
					skip := min(done, len(p))
					done -= skip
					if !out.Append(p[skip:]) {
						rt.Fatal("no room for as many buffers as asked for")
					}
				}
				n, err := SendV(c, out, rapid.Bool().Draw(rt, "more"))
				if err != 0 && err != syscall.EAGAIN {
					rt.Fatal(err)
				}
				if sent += n; sent < len(want) {
					shortSends++
				}
			}
			in.Reset()
			for from := at; from < len(want) && in.Room() > 0; from += chunk {
				in.Append(got[from:min(from+chunk, len(want))])
			}
			n, err := RecvV(s, in)
			if err == syscall.EAGAIN {
				continue
			}
			if err != 0 || n == 0 {
				rt.Fatalf("RecvV: %d, %v", n, err)
			}
			at += n
		}
		if !bytes.Equal(got, want) {
			rt.Fatal("bytes came out different")
		}
	})
	if shortSends == 0 {
		t.Error("no send was short: the test shows nothing")
	}
}
