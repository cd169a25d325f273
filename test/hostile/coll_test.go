package hostile

// Steps of collective operations for groups that do not exist and for groups that might be joined, and ends of groups.
// They come from a hostile peer that claims to run this module.

import (
	"errors"
	"os"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
)

// joinBoth joins both ends to a group, which takes a moment.
func joinBoth(p *conform.Pair) error {
	ends := []*conform.Side{p.A, p.B}
	var groups []*core.MC
	for i, s := range ends {
		set, err := s.AV.OpenSet(core.AVSetAttr{})
		if err != nil {
			return err
		}
		defer set.Close()
		members := []core.FIAddr{s.Insert(p.A.Addr), s.Insert(p.B.Addr)}
		if err := errors.Join(set.Insert(members[0]), set.Insert(members[1])); err != nil {
			return err
		}
		g, err := s.EP.JoinCollective(set.Addr(), set, 0, i)
		if err != nil {
			return err
		}
		defer g.Close()
		groups = append(groups, g)
	}
	for i, s := range ends {
		if ev := s.WantEvent(core.EventJoinComplete); ev.Object != core.Object(groups[i]) {
			return errors.New("an event of another group")
		}
	}
	for i, s := range ends {
		p.Retry("barrier", func() error { return s.EP.Barrier(groups[i].Addr(), 50) })
	}
	p.Want(p.A, 50)
	p.Want(p.B, 50)
	return nil
}

func TestCollectiveFlood(t *testing.T) {
	st := conform.Stack{Name: "tcp-rdm", Provider: "tcp", EPType: core.EPTypeRDM, Caps: conform.RDMCaps}
	for _, k := range []struct {
		name string
		tag  uint64
		data uint64
		size int
		stop bool // the flood must not be read for ever
	}{
		{"joining", wire.CollJoin, 0, 100, true},
		{"joining, empty", wire.CollJoin, 0, 0, true},
		{"joining, large", wire.CollJoin, 0, 1 << 20, true},
		{"no group", 0, 0, 100, true}, // each is answered, and the answers are not read
		{"no group, aborted", 0, wire.CollAbort | 104<<32, 0, false},
		{"joining, aborted", wire.CollJoin, wire.CollAbort | 125<<32, 0, false},
	} {
		t.Run(k.name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := conform.Open(t, small(t, st, "8388608"), conform.WithCaps(core.CapCollective),
				conform.WithBefore(func(s *conform.Side) {
					eq, err := s.Fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
					if err != nil {
						t.Fatal(err)
					}
					s.EQ = eq
					if err := s.EP.BindEQ(eq, 0); err != nil {
						t.Fatal(err)
					}
				}))
			p.Ping(1)
			if err := p.B.EP.SetOpt(core.OptLinger, 0); err != nil { // the flooding peer reads no answers
				t.Fatal(err)
			}
			if err := joinBoth(p); err != nil {
				t.Fatal(err)
			}
			before := heap()
			r, done := strange(t, p, wire.FeatureExtended)
			var batch []byte
			for i := uint64(0); len(batch) < 1<<20; i++ { // for many groups
				h := wire.Header{Op: wire.OpColl,
					Tag: k.tag | i<<wire.CollGroup&^wire.CollJoin | k.tag | i&0xff, CQData: k.data | i&0xffff}
				h.SetPayload(uint64(k.size))
				batch = append(h.Append(batch, wire.Little), make([]byte, k.size)...)
			}
			most := 32 << 20
			if k.stop {
				most = 512 << 20 // more than the system's buffers of both ends hold, however large they have grown
			}
			sent, idle := 0, 0
			for sent < most && idle < 20 {
				_ = r.c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
				n, err := r.c.Write(batch[sent%len(batch):])
				if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("the flood's connection has ended: %v", err)
				}
				if idle++; n > 0 {
					sent, idle = sent+n, 0
				}
				for range 100 {
					p.Progress()
				}
			}
			blocked := idle > 0
			if blocked != k.stop {
				t.Errorf("after %d MiB the write failed: %v", sent>>20, blocked)
			}
			if after := heap(); after > before+24<<20 {
				t.Errorf("heap grew from %d to %d MiB", before>>20, after>>20)
			}
			if err := joinBoth(p); err != nil {
				t.Errorf("a group beside the flood: %v", err)
			}
			p.Ping(2)
			r.c.Close()
			p.Ping(3)
			done()
			p.Forget()
		})
	}
}
