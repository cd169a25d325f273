package hostile

// Malformed input on an established connection.

import (
	"runtime"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
)

const (
	opMsg, opTag, opReadReq, opReadRsp, opWrite, opRTS, opCTS, opData = 0, 1, 2, 3, 4, 5, 6, 7
	ack                                                               = 2
	// secret is the length of the region that the forger attacks, in bytes.
	secret = 4096
)

func TestStream(t *testing.T) {
	const gib4 = 4 << 30
	cases := []struct {
		name   string
		bytes  []byte
		closes bool
	}{
		{"version 2", base(2, opMsg, 0, 0, 0, 16, 24), true},
		{"http", []byte("GET / HTTP/1.1\r\nHost: fabric\r\n\r\n"), true},
		{"operation 8", base(3, 8, 0, 0, 0, 16, 24), true},
		{"operation 255", base(3, 255, 0, 0, 0, 16, 24), true},
		{"header of 0 bytes", base(3, opMsg, 0, 0, 0, 0, 24), true},
		{"header of 15 bytes", base(3, opMsg, 0, 0, 0, 15, 24), true},
		{"header of 255 bytes", append(base(3, opMsg, 0, 0, 0, 255, 300), make([]byte, 300)...), true},
		{"header longer than the message", words(base(3, opTag, 0, 0, 0, 24, 16), 5), true},
		{"size 0", base(3, opMsg, 0, 0, 0, 16, 0), true},
		{"size of all ones", base(3, opMsg, 0, 0, 0, 16, ^uint64(0)), true},
		{"half a header", base(3, opMsg, 0, 0, 0, 16, 24)[:9], false},
		{"4 GiB tagged message, 100 bytes of it",
			append(words(base(3, opTag, 0, 0, 0, 24, gib4+24), 5), make([]byte, 100)...), false},
		{"2^60 bytes tagged message, 100 bytes of it",
			append(words(base(3, opTag, 0, 0, 0, 24, 1<<60), 5), make([]byte, 100)...), false},
		{"4 GiB write to a forged key", words(base(3, opWrite, 0, 0, 1, 40, gib4+40), 0, gib4, 12345), true},
		{"write to a forged key", append(words(base(3, opWrite, 0, 0, 1, 40, 48), 0, 8, 12345), make([]byte, 8)...),
			true},
		{"write with 0 segments", append(base(3, opWrite, 0, 0, 0, 16, 24), make([]byte, 8)...), true},
		{"write with 5 segments", words(base(3, opWrite, 0, 0, 5, 136, 136), make([]uint64, 15)...), true},
		{"write with 255 segments", words(base(3, opWrite, 0, 0, 255, 40, 48), 0, 8, 101), true},
		{"write whose segments are shorter than its data",
			append(words(base(3, opWrite, 0, 0, 1, 40, 140), 0, 8, 101), make([]byte, 100)...), true},
		{"read of a forged key", words(base(3, opReadReq, 0, 0, 1, 40, 40), 0, 8, 54321), true},
		{"read of 2^40 bytes", words(base(3, opReadReq, 0, 0, 1, 40, 40), 0, 1<<40, 101), true},
		{"read that wraps around", words(base(3, opReadReq, 0, 0, 1, 40, 40), ^uint64(0)-3, 8, 101), true},
		{"read whose lengths add up beyond 2^64",
			words(base(3, opReadReq, 0, 0, 2, 64, 64), 0, ^uint64(0), 101, 0, ^uint64(0), 101), true},
		{"read with 5 segments", words(base(3, opReadReq, 0, 0, 5, 136, 136), make([]uint64, 15)...), true},
		{"answer to no read", append(base(3, opReadRsp, 0, 0, 0, 16, 24), make([]byte, 8)...), true},
		{"acknowledgement of nothing", base(3, opMsg, 0, ack, 0, 16, 16), true},
		{"clear to send of nothing", base(3, opCTS, 0, 7, 0, 16, 16), true},
		{"data of no rendezvous", append(base(3, opData, 0, 7, 0, 16, 24), make([]byte, 8)...), true},
		{"noise", conform.Pattern(100000, 3), true},
	}
	for _, st := range stacks {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			mem := conform.Pattern(secret, 8)
			mr := p.B.Reg(mem, core.AccessRemoteRead|core.AccessRemoteWrite) // key 101
			before := heap()
			p.Ping(1)
			for i, c := range cases {
				for _, stays := range []bool{true, false} {
					r, done := connect(t, p)
					r.send(c.bytes)
					if !stays {
						r.c.Close()
					}
					p.Ping(uint64(100 + 2*i))
					if stays && c.closes && !r.closed(p) {
						t.Errorf("%s: the connection stays open", c.name)
					}
					r.c.Close()
					p.Ping(uint64(101 + 2*i))
					done()
				}
			}
			conform.CheckPattern(t, "registered memory", mem, secret, 8)
			if after := heap(); after > before+32<<20 {
				t.Errorf("heap grew from %d to %d MiB", before>>20, after>>20)
			}
			fresh(t, p)
			if err := mr.Close(); err != nil {
				t.Error(err)
			}
			p.Forget()
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestReplay repeats a valid write with the key of a closed region, and with the key of another region that has fewer
// rights.
func TestReplay(t *testing.T) {
	for _, st := range stacks {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			mem, ro := make([]byte, 64), make([]byte, 64)
			mr := p.B.Reg(mem, core.AccessRemoteWrite)
			rr := p.B.Reg(ro, core.AccessRemoteRead)
			write := func(base0, key uint64, fill uint64) []byte {
				h := wire.Header{Op: wire.OpWrite, Flags: wire.FlagCQData, CQData: fill, IovCnt: 1,
					IOV: [wire.IOVLimit]wire.RMAIov{{Addr: base0, Len: 8, Key: key}}}
				h.SetPayload(8)
				return append(h.Append(nil, wire.Little), conform.Pattern(8, fill)...)
			}
			r, done := connect(t, p)
			r.send(write(mr.Base(), mr.Key(), 1)) // a valid one: this peer has the key
			g := p.WantWhere(p.B, "the hostile peer's write",
				func(g *conform.Got) bool { return g.Flags&core.CompRemoteWrite != 0 })
			if g.Err != nil || g.Data != 1 {
				t.Errorf("the hostile peer's write completed as %v", g)
			}
			conform.CheckPattern(t, "the hostile peer's write", mem, 8, 1)
			p.Ping(1)
			base0, key := mr.Base(), mr.Key()
			if err := mr.Close(); err != nil {
				t.Fatal(err)
			}
			r.send(write(base0, key, 2))
			if !r.closed(p) {
				t.Error("a write with the key of a closed region does not end the connection")
			}
			done()
			conform.CheckPattern(t, "memory of a closed region", mem, 8, 1)
			r, done = connect(t, p)
			r.send(write(rr.Base(), rr.Key(), 3))
			if !r.closed(p) {
				t.Error("a write to a read-only region does not end the connection")
			}
			done()
			conform.CheckZero(t, "read-only region", ro)
			p.Ping(2)
			if err := rr.Close(); err != nil {
				t.Error(err)
			}
			p.Forget()
		})
	}
}

// TestMidMessage closes a connection in the middle of a message for which a receive is posted. That receive fails, and
// nothing else is lost.
func TestMidMessage(t *testing.T) {
	for _, st := range stacks {
		if st.EPType == core.EPTypeMsg && !st.SharedRx {
			continue // the receives of a MSG endpoint end with its connection
		}
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			for i := range uint64(10) {
				r, done := connect(t, p)
				buf := make([]byte, 1000)
				p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, 1<<40, 0, 60) })
				r.send(append(words(base(3, opTag, 0, 0, 0, 24, 1024), 1<<40), make([]byte, 10+100*i)...))
				p.Ping(10 * i)
				r.c.Close()
				p.WantErr(p.B, 60)
				p.Ping(10*i + 1)
				done()
				p.Forget()
			}
		})
	}
}
