package udp

import (
	"bytes"
	"slices"
	"syscall"
	"testing"

	"gofabric/core"
	"gofabric/internal/netx"
)

// scripted is a datapath whose sendBurst follows a script: it sends a number of datagrams, or fails.
type scripted struct {
	datapath
	script []any // int or syscall.Errno; after its end the datapath sends everything
}

func (l *scripted) sendBurst(to *netx.SockAddr, b *netx.Burst) (int, syscall.Errno) {
	if len(l.script) == 0 {
		return l.datapath.sendBurst(to, b)
	}
	step := l.script[0]
	l.script = l.script[1:]
	switch step := step.(type) {
	case syscall.Errno:
		return 0, step
	case int:
		sent := 0
		for sent < step && b.Len() > 0 {
			n, err := netx.SendBurst(l.wait(), to, b, 1)
			if err != 0 {
				return sent, err
			}
			sent += n
		}
		return sent, 0
	}
	return 0, syscall.EINVAL
}

// TestSendSeparately sends ten datagrams over datapaths that stop or fail in the middle.
func TestSendSeparately(t *testing.T) {
	const count, seg = 10, 100
	data := make([]byte, count*seg-1)
	for i := range data {
		data[i] = byte(i / seg)
	}
	for name, c := range map[string]struct {
		script  []any
		want    error
		came    int
		blocked bool
		icmp    uint64
	}{
		"nothing":                {came: 10},
		"short counts":           {script: []any{3, 1, 2}, came: 10},
		"full at once":           {script: []any{syscall.EAGAIN}, want: core.ErrAgain, blocked: true},
		"full in the middle":     {script: []any{4, syscall.EAGAIN}, want: core.ErrNoBufs, came: 4, blocked: true},
		"refused":                {script: []any{syscall.ECONNREFUSED, 5, syscall.ECONNREFUSED}, came: 10, icmp: 2},
		"refused again":          {script: []any{2, syscall.ECONNREFUSED, syscall.ECONNREFUSED}, want: core.ErrConnRefused, came: 2, icmp: 2},
		"too long once":          {script: []any{2, syscall.EMSGSIZE}, came: 10},
		"too long, not in parts": {script: []any{2, syscall.EMSGSIZE, syscall.EMSGSIZE}, want: core.ErrMsgSize, came: 2},
		"no way there":           {script: []any{9, syscall.EHOSTUNREACH}, want: core.ErrHostUnreach, came: 9},
	} {
		for _, v := range []string{"plain", "lists"} {
			t.Run(name+"/"+v, func(t *testing.T) {
				d := testDomain(t, variants[v]...)
				a, mine := testPort(t, d, loopback4)
				b, in := testPort(t, d, loopback4)
				a.main.datapath = &scripted{a.main.datapath, slices.Clone(c.script)}
				d.prog.Lock()
				if err := a.Send(b.Local(), [][]byte{data[:250], data[250:251], data[251:]}, seg); err != c.want {
					t.Errorf("Send: %v, want %v", err, c.want)
				}
				lost := uint64(count - c.came)
				if c.want == core.ErrAgain {
					lost = 0
				}
				if s := a.Stats(); s.SentDatagrams != uint64(c.came) || s.SendErrors != lost || a.icmp != c.icmp ||
					s.SentBytes != uint64(min(c.came*seg, len(data))) {
					t.Errorf("%+v, %d ICMP errors", s, a.icmp)
				}
				if a.blocked != c.blocked {
					t.Errorf("blocked %v", a.blocked)
				}
				d.prog.Unlock()
				d.until(t, "the datagrams that were sent", func() bool {
					return len(in.got) >= c.came && (mine.writable > 0 || !c.blocked)
				})
				var all []byte
				for _, g := range in.got {
					all = append(all, g.data...)
				}
				if len(in.got) != c.came || !bytes.Equal(all, data[:min(c.came*seg, len(data))]) {
					t.Errorf("%d datagrams of %d, %d bytes", len(in.got), c.came, len(all))
				}
				must(t, a.send(b.Local(), seg, data)) // later sends succeed
			})
		}
	}
}

// TestSendSeparatelyManyParts sends runs with more datagrams, and with more parts, than fit into a burst.
func TestSendSeparatelyManyParts(t *testing.T) {
	for _, v := range []string{"plain", "lists"} {
		d := testDomain(t, variants[v]...)
		a, _ := testPort(t, d, loopback4)
		b, in := testPort(t, d, loopback4)
		for _, c := range []struct{ part, seg, want int }{{1, 100, 40}, {1, netx.IOVMax, 4}, {7, 3, 1334}, {4000, 1, 4000}} {
			in.got = nil
			data := make([]byte, 4000)
			var parts [][]byte
			for i := range data {
				data[i] = byte(i)
			}
			for p := range slices.Chunk(data, c.part) {
				parts = append(parts, p)
			}
			must(t, a.send(b.Local(), c.seg, parts...))
			d.until(t, "the whole run arrives", func() bool { return len(in.got) >= c.want })
			var all []byte
			for _, g := range in.got {
				all = append(all, g.data...)
			}
			if len(in.got) != c.want || !bytes.Equal(all, data) {
				t.Errorf("%s %v: %d datagrams", v, c, len(in.got))
			}
		}
		var parts [][]byte
		for range netx.IOVMax + 1 {
			parts = append(parts, []byte("x"))
		}
		before := a.counts().SendErrors
		if err := a.send(b.Local(), netx.IOVMax+1, append(parts, parts...)...); err != core.Err2Big ||
			a.counts().SendErrors != before+2 {
			t.Errorf("%s: one datagram of too many parts: %v, %+v", v, err, a.counts())
		}
	}
}

func TestLinkVariable(t *testing.T) {
	for value, want := range map[string]bool{"plain": false, "batch": true, "auto": thisSystem().batches} {
		d := testDomain(t, "LINK", value)
		p, _ := testPort(t, d, loopback4)
		if got := p.batch() != nil; got != want {
			t.Errorf("%s: %v", value, p)
		}
	}
	params, err := core.NewParams(func(name string) (string, bool) { return "ring", name == "FI_UDP_LINK" }, "")
	must(t, err)
	if _, err := New(params, nil); err == nil {
		t.Error("FI_UDP_LINK=ring is accepted")
	}
}
