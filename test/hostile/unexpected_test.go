package hostile

// A peer that sends unexpected messages without end. The endpoint stops reading it at its share of the budget, and
// other peers have theirs.

import (
	"errors"
	"os"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
	"gofabric/test/conform"
)

// small returns st with a registry of its own, in which unexpected messages may take budget bytes.
func small(t *testing.T, st conform.Stack, budget string) conform.Stack {
	t.Helper()
	params, err := core.NewParams(func(name string) (string, bool) { return budget, name == "FI_TCP_UNEXP_BYTES" }, "")
	if err != nil {
		t.Fatal(err)
	}
	machine := &host.Host{}
	p, err := tcp.New(params, machine)
	if err != nil {
		t.Fatal(err)
	}
	reg := core.NewRegistry(p)
	st.GetInfo = func(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error) {
		list, _, err := core.GetInfo(reg, machine, params,
			core.Query{Node: node, Service: service, Flags: flags, Hints: hints})
		return list, err
	}
	st.OpenFabric = func(info *core.Info) (*core.Fabric, error) { return core.OpenFabric(reg, info) }
	return st
}

func TestUnexpectedFlood(t *testing.T) {
	for _, k := range []struct {
		name string
		size int
	}{{"empty", 0}, {"small", 40}, {"large", 1 << 20}} {
		for _, st := range stacks[1:] {
			t.Run(k.name+"/"+st.Name, func(t *testing.T) {
				conform.NoLeaks(t)
				p := open(t, small(t, st, "8388608"))
				p.Ping(1)
				before := heap()
				r, done := connect(t, p)
				frame := append(words(base(3, opTag, 0, 0, 0, 24, uint64(24+k.size)), 77), make([]byte, k.size)...)
				var batch []byte
				for len(batch) < 1<<20 {
					batch = append(batch, frame...)
				}
				sent, blocked := 0, false
				for sent < 256<<20 && !blocked {
					_ = r.c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
					n, err := r.c.Write(batch)
					sent += n
					blocked = errors.Is(err, os.ErrDeadlineExceeded)
					if err != nil && !blocked {
						t.Fatalf("the flood's connection has ended: %v", err)
					}
					p.Progress()
				}
				if !blocked {
					t.Errorf("%d MiB of unexpected messages were accepted; the budget is 8 MiB", sent>>20)
				}
				if after := heap(); after > before+24<<20 {
					t.Errorf("heap grew from %d to %d MiB", before>>20, after>>20)
				}
				p.Ping(2)
				exchangeTagged(p, 88)
				// The flood's messages can be received, and the messages behind them arrive.
				buf := make([]byte, k.size)
				for range min(50, sent/len(frame)) { // the rest of a frame that was cut will not be sent
					p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, 77, 0, 9) })
					if g := p.Want(p.B, 9); g.Len != k.size {
						t.Fatalf("received %v; want %d bytes", g, k.size)
					}
				}
				r.c.Close()
				p.Ping(3)
				done()
				p.Forget()
			})
		}
	}
}

// exchangeTagged sends an unexpected message of an honest peer, and receives it a while later.
func exchangeTagged(p *conform.Pair, tag uint64) {
	p.T.Helper()
	src, buf := conform.Pattern(5000, tag), make([]byte, 5000)
	p.Retry("tsend", func() error { return p.A.EP.TSend(src, 0, p.A.Peer, tag, 31) })
	p.Want(p.A, 31)
	for range 100 {
		p.Progress()
	}
	p.Retry("trecv", func() error { return p.B.Rx().TRecv(buf, 0, core.AddrUnspec, tag, 0, 32) })
	p.Want(p.B, 32)
	conform.CheckPattern(p.T, "unexpected message beside a flood", buf, 5000, tag)
}

// TestBudgetOfPeers has several peers fill the budget. A small unexpected message is kept all the same, and the message
// behind it is received first.
func TestBudgetOfPeers(t *testing.T) {
	for _, st := range stacks[1:] {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, small(t, st, "8388608"))
			p.Ping(1)
			frame := append(words(base(3, opTag, 0, 0, 0, 24, 24+5000), 77), make([]byte, 5000)...)
			var batch []byte
			for len(batch) < 1<<20 {
				batch = append(batch, frame...)
			}
			var fullPeers []*raw
			var ends []func()
			for range 12 {
				r, done := connect(t, p)
				fullPeers, ends = append(fullPeers, r), append(ends, done)
				for sent := 0; sent < 64<<20; {
					_ = r.c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
					n, err := r.c.Write(batch)
					sent += n
					p.Progress()
					if err != nil {
						break // the endpoint does not read it any more
					}
				}
			}
			early, late := make([]byte, 1000), make([]byte, 1000)
			p.Retry("tsend", func() error { return p.A.EP.TSend(conform.Pattern(1000, 5), 0, p.A.Peer, 5, 31) })
			p.Retry("tsend", func() error { return p.A.EP.TSend(conform.Pattern(1000, 6), 0, p.A.Peer, 6, 32) })
			p.Want(p.A, 31)
			p.Want(p.A, 32)
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(late, 0, core.AddrUnspec, 6, 0, 33) })
			p.Want(p.B, 33)
			p.Retry("trecv", func() error { return p.B.Rx().TRecv(early, 0, core.AddrUnspec, 5, 0, 34) })
			p.Want(p.B, 34)
			conform.CheckPattern(t, "the message that waited", early, 1000, 5)
			conform.CheckPattern(t, "the message behind it", late, 1000, 6)
			for i, r := range fullPeers {
				r.c.Close()
				ends[i]()
			}
			p.Ping(2)
			p.Forget()
		})
	}
}
