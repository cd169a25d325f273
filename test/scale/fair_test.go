//go:build linux

package scale

// Fairness: four processes that send to one endpoint as fast as they can.

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/test/need"
)

const (
	senderVar  = "SCALE_SENDER" // address to send to, the sender's number, bytes of a message; set in the child
	senders    = 4
	senderDeep = 16 // pending messages of a sender

	// fairWithin is how much more than the least of them a sender may get. Over loopback the result depends on the
	// scheduler, too, if there are fewer cores than processes. So the measurement is repeated, and the median counts.
	fairWithin = 0.20
	fairTries  = 5
	fairTime   = 2 * time.Second
)

// senderMain is the main function of the child. It sends until its standard input ends.
func senderMain() {
	var to string
	var num uint64
	var size int
	fmt.Sscan(os.Getenv(senderVar), &to, &num, &size)
	os.Setenv("FI_OFI_RXD_SINGLE_COPY_SIZE", "-1") // the test is about datagrams
	os.Setenv("FI_OFI_RXD_LINGER", "100")
	if err := stream(netip.MustParseAddrPort(to), num, size); err != nil {
		fmt.Println("ERROR", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func stream(to netip.AddrPort, num uint64, size int) error {
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = core.CapMsg, "udp;ofi_rxd", core.EPTypeRDM
	list, _, err := gofabric.GetInfo(core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: h})
	if err != nil {
		return err
	}
	fabric, err := gofabric.OpenFabric(list[0])
	if err != nil {
		return err
	}
	domain, err := fabric.OpenDomain(list[0])
	if err != nil {
		return err
	}
	cq, err := domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec})
	if err != nil {
		return err
	}
	av, err := domain.OpenAV(core.AVAttr{Type: core.AVTable})
	if err != nil {
		return err
	}
	if _, err := av.Insert([]core.Addr{core.IPAddr(to)}, make([]core.FIAddr, 1), 0); err != nil {
		return err
	}
	ep, err := domain.OpenEndpoint(list[0])
	if err != nil {
		return err
	}
	for _, f := range []func() error{func() error { return ep.BindCQ(cq, core.BindTransmit|core.BindRecv) },
		func() error { return ep.BindAV(av, 0) }, ep.Enable} {
		if err := f(); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		os.Stdin.Read(make([]byte, 1))
		stop()
	}()
	buf := make([]byte, size)
	binary.LittleEndian.PutUint64(buf, num)
	es := make([]core.CQEntry, senderDeep)
	for inFlight := 0; ; {
		for inFlight < senderDeep && ep.Send(buf, 0, 0, 1) == nil {
			inFlight++
		}
		n, err := cq.SRead(ctx, es) // sleeps while it waits: a spinning process would take the others' processors
		if err == core.ErrAvail {
			var e core.CQErrEntry
			if err := cq.ReadErr(&e); err != nil {
				return err
			}
			return fmt.Errorf("%v: %s", e.Err, e.Detail)
		}
		if ctx.Err() != nil {
			return nil
		}
		inFlight -= max(n, 0)
	}
}

// TestRXDFair measures how four senders share one receiver.
func TestRXDFair(t *testing.T) {
	if !need.Many() || need.Raced {
		t.Skip("it takes long and needs the machine for itself: set GOFABRIC_MANY")
	}
	for _, size := range []int{64 << 10, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var worst []float64
			for range fairTries {
				w, shares := shared(t, size)
				t.Log(shares)
				worst = append(worst, w)
			}
			slices.Sort(worst)
			if m := worst[fairTries/2]; m > fairWithin {
				t.Errorf("a sender gets %.0f %% more than another in the median of %d measurements, want at most %.0f %%", m*100, fairTries, fairWithin*100)
			}
		})
	}
}

// shared measures once. It returns how much more the fastest sender got than the slowest, and the shares of all.
func shared(t *testing.T, size int) (worst float64, shares string) {
	t.Helper()
	p := openOver(t, "udp;ofi_rxd", "127.0.0.1", senders)
	defer p.close()
	bufs := make([][]byte, 4*senders)
	post := func(i int) { p.check(p.ep.Recv(bufs[i], 0, core.AddrUnspec, core.OpContext(i))) }
	for i := range bufs {
		bufs[i] = make([]byte, size)
		post(i)
	}
	var children region
	for k := range senders {
		children = append(children, startChild(t, fmt.Sprintf("%s=%s %d %d", senderVar, name(t, p.ep), k, size)))
	}
	var got [senders]int64
	var began time.Time
	heard, everybody := 0, false
	es := make([]core.CQEntry, 16)
	for start := time.Now(); ; {
		n, err := p.cq.Read(es)
		if err != core.ErrAgain {
			p.check(err)
		}
		for _, e := range es[:max(n, 0)] {
			k := binary.LittleEndian.Uint64(bufs[e.Ctx])
			if got[k] == 0 {
				heard++
			}
			got[k] += int64(e.Len)
			post(int(e.Ctx))
		}
		now := time.Now()
		switch {
		case !everybody && heard == senders: // half a second until the shares are stable
			everybody, began = true, now.Add(500*time.Millisecond)
		case everybody && heard == senders && now.After(began):
			got, heard = [senders]int64{}, -1<<30
		case heard < 0 && now.Sub(began) >= fairTime:
			var sum int64
			for _, g := range got {
				sum += g
			}
			for _, g := range got {
				shares += fmt.Sprintf("%.2f ", float64(g)*senders/float64(sum))
			}
			worst = float64(slices.Max(got[:]))/float64(slices.Min(got[:])) - 1
			for _, c := range children {
				c.HangUp() // before the receiver closes
			}
			return worst, fmt.Sprintf("%d bytes each: shares %sof %.2f GB/s", size, shares,
				float64(sum)/now.Sub(began).Seconds()/1e9)
		case !everybody && now.Sub(start) > patience:
			t.Fatalf("only %d of %d senders were received from", heard, senders)
		}
	}
}
