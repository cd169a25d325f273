package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gofabric/internal/xnet/engine"
	"gofabric/test/sim/network"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goodput sends messages of 64 KiB from one endpoint to another, a few at a time. It returns their share of the link's
// rate in the second half of d nanoseconds.
func goodput(t *testing.T, native bool, bps, rtt int64, window int, loss float64, d int64) float64 {
	t.Helper()
	const size, ahead = 64 << 10, 16
	w := newRxdWorld(1, nil, func(*network.Sched) (features, rxdFeatures, network.Link) {
		x := rxdFeatures{nodes: 2, mtu: 1472, nativeMTU: 1472, recvWindow: window, maxUnacked: 128,
			peerTimeout: rxdPeerTimeout, quiet: true}
		if native {
			x.natives = 3
		}
		return features{nodes: 2}, x, network.Link{}
	})
	for way := range 2 {
		w.net.Route(way, 1-way, &network.Link{Rate: bps, Queue: max(64<<10, bps*rtt/1e9), Delay: rtt / 2, Loss: loss})
	}
	a, b := w.nodes[0], w.nodes[1]
	for _, n := range w.nodes {
		n.conn.StageMax, n.conn.StageLimit, n.conn.TxDepth = 4096, 128<<10, 64
	}
	s := a.channel(1)
	body := make([]byte, size)
	bufs := make([][]byte, ahead)
	for i := range bufs {
		bufs[i] = make([]byte, size)
	}
	posted := 0
	var feed func()
	feed = func() {
		for b.rx.Posted() < ahead {
			op := b.rx.NewOp()
			op.SetBuf(bufs[posted%ahead])
			b.rx.PostMsg(op, engine.AnySource)
			posted++
		}
		for s.conn().InFlight() < ahead {
			e := &engine.Send{Kind: engine.KindSend, NIOV: 1}
			e.IOV[0] = body
			if err := s.submit(e); err != nil {
				t.Fatal(err)
			}
		}
		a.transmit()
		b.transmit()
		w.s.After(20e3, feed)
	}
	a.raw, b.raw = true, true
	w.s.After(0, feed)
	begin := w.s.Now
	for w.s.Now < begin+d/2 && len(w.errs) == 0 && w.s.Step() {
	}
	half, at := s.conn().BytesOut, w.s.Now
	for w.s.Now < begin+d && len(w.errs) == 0 && w.s.Step() {
	}
	for _, e := range w.errs {
		t.Error(e)
	}
	return float64(s.conn().BytesOut-half) / (float64(w.s.Now-at) / 1e9) / float64(bps)
}

// TestRxdGoodput compares the goodput of whole engines over links of many kinds with recorded values. A change of
// behaviour shows as a difference in a table.
func TestRxdGoodput(t *testing.T) {
	if *oneSeed != 0 {
		t.Skip("skipped with -seed")
	}
	losses := []float64{0, 0.001, 0.01, 0.05, 0.1, 0.3}
	var out bytes.Buffer
	fmt.Fprintf(&out, "share of the link that bytes of messages had, percent; datagrams of 1472 bytes\n%-46s", "loss")
	for _, l := range losses {
		fmt.Fprintf(&out, "%7.1f%%", 100*l)
	}
	fmt.Fprintln(&out)
	for _, p := range []struct {
		bps, rtt int64
		window   int
		native   bool
		d        int64
	}{
		{125e6, 100e3, 1 << 20, false, 150e6},
		{125e6, 1e6, 1 << 20, false, 200e6},
		{125e6, 1e6, 64 << 10, false, 200e6},
		{12.5e6, 10e6, 1 << 20, false, 2e9},
		{12.5e6, 10e6, 64 << 10, false, 2e9},
		{12.5e6, 50e6, 1 << 20, false, 5e9},
		{125e6, 100e3, 0, true, 150e6},
		{125e6, 1e6, 0, true, 200e6},
	} {
		kind := fmt.Sprintf("window %d KiB", p.window>>10)
		if p.native {
			kind = "native packets"
		}
		fmt.Fprintf(&out, "%-46s", fmt.Sprintf("%5d Mbit/s  %5.1f ms  %s", p.bps*8/1e6, float64(p.rtt)/1e6, kind))
		for _, loss := range losses {
			fmt.Fprintf(&out, "%8.1f", 100*goodput(t, p.native, p.bps, p.rtt, max(p.window, 1<<16), loss, p.d))
		}
		fmt.Fprintln(&out)
	}
	path := filepath.Join("testdata", "goodput.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%s differs (if that is intended: -update):\n%s\nwas:\n%s", path, out.Bytes(), want)
	}
}
