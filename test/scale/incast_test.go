//go:build linux

package scale

// The child is a process with thousands of RDM endpoints of a stack in one domain, each with a port of its own.

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"gofabric"
	"gofabric/core"
)

const (
	// childVar has the address of the endpoint to send to, the child's own, the number of its first endpoint, the
	// stack and an FI_* variable; set in the child.
	childVar  = "SCALE_CHILD"
	childPort = 20_000 // of the first endpoint of a child
	ctxAnswer = 1 << 32
)

// child is the child's state.
type child struct {
	to     netip.AddrPort
	stack  string
	ip     netip.Addr
	first  int
	fabric *core.Fabric
	domain *core.Domain
	cq     *core.CompletionQueue
	av     *core.AddressVector
	eps    []*core.Endpoint
	bufs   [][8]byte
	answer [][8]byte
	heard  int
	spoken int
}

// childMain is the main function of the child. It executes commands from its standard input.
func childMain() {
	v := &child{}
	f := strings.Fields(os.Getenv(childVar))
	v.to, v.ip = netip.MustParseAddrPort(f[0]), netip.MustParseAddr(f[1])
	fmt.Sscan(f[2], &v.first)
	v.stack = f[3]
	if name, value, ok := strings.Cut(f[4], "="); ok {
		os.Setenv(name, value) // before the package reads it
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		switch cmd, arg, _ := strings.Cut(in.Text(), " "); cmd {
		case "open":
			var n int
			fmt.Sscan(arg, &n)
			err = v.open(n)
		case "speak":
			err = v.speak()
		case "listen":
			err = v.wait(&v.heard)
			v.heard = 0
		case "close":
			err = v.close()
		}
		if err != nil {
			fmt.Println("ERROR", err)
			os.Exit(1)
		}
		fmt.Println("OK")
	}
	os.Exit(0)
}

// open opens n endpoints.
func (v *child) open(n int) error {
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = core.CapMsg|core.CapSource, v.stack, core.EPTypeRDM
	list, _, err := gofabric.GetInfo(core.Query{Node: v.ip.String(), Flags: core.InfoSource, Hints: h})
	if err != nil {
		return err
	}
	if v.fabric, err = gofabric.OpenFabric(list[0]); err != nil {
		return err
	}
	if v.domain, err = v.fabric.OpenDomain(list[0]); err != nil {
		return err
	}
	if v.cq, err = v.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec, Size: 2 * n}); err != nil {
		return err
	}
	if v.av, err = v.domain.OpenAV(core.AVAttr{Type: core.AVTable}); err != nil {
		return err
	}
	if _, err := v.av.Insert([]core.Addr{core.IPAddr(v.to)}, make([]core.FIAddr, 1), 0); err != nil {
		return err
	}
	v.bufs, v.answer = make([][8]byte, n), make([][8]byte, n)
	for i := range n {
		info := list[0].Dup()
		info.SrcAddr = core.IPAddr(netip.AddrPortFrom(v.ip, uint16(childPort+i)))
		ep, err := v.domain.OpenEndpoint(info)
		if err != nil {
			return err
		}
		v.eps = append(v.eps, ep)
		if err := errors.Join(ep.BindCQ(v.cq, core.BindTransmit|core.BindRecv),
			ep.BindAV(v.av, 0), ep.Enable()); err != nil {
			return err
		}
	}
	return nil
}

// speak has every endpoint send its number.
func (v *child) speak() error {
	for i, ep := range v.eps {
		if err := ep.Recv(v.answer[i][:], 0, core.AddrUnspec, ctxAnswer+core.OpContext(i)); err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(v.bufs[i][:], uint64(v.first+i))
		if err := ep.Send(v.bufs[i][:], 0, 0, core.OpContext(i)); err != nil {
			return err
		}
	}
	err := v.wait(&v.spoken)
	v.spoken = 0
	return err
}

// wait reads completions until all endpoints have theirs.
func (v *child) wait(count *int) error {
	es := make([]core.CQEntry, 64)
	for end := time.Now().Add(patience); *count < len(v.eps); {
		n, err := v.cq.Read(es)
		switch {
		case err == core.ErrAvail:
			var e core.CQErrEntry
			if err := v.cq.ReadErr(&e); err != nil {
				return err
			}
			return fmt.Errorf("endpoint %d: %v: %s", e.Ctx, e.Err, e.Detail)
		case err == core.ErrAgain:
			if time.Now().After(end) {
				return fmt.Errorf("%d of %d have sent, %d have received", v.spoken, len(v.eps), v.heard)
			}
			time.Sleep(20 * time.Microsecond) // the processes share the cores
			continue
		case err != nil:
			return err
		}
		for _, e := range es[:n] {
			if e.Ctx < ctxAnswer {
				v.spoken++
				continue
			}
			i := int(e.Ctx - ctxAnswer)
			if got := binary.LittleEndian.Uint64(v.answer[i][:]); got != ^uint64(v.first+i) {
				return fmt.Errorf("endpoint %d received %#x", i, got)
			}
			v.heard++
		}
	}
	return nil
}

func (v *child) close() error {
	for _, ep := range v.eps {
		if err := ep.Close(); err != nil {
			return err
		}
	}
	return errors.Join(v.av.Close(), v.cq.Close(), v.domain.Close(), v.fabric.Close())
}

// region is all children.
type region []*remote

// startRegion starts children with n endpoints of a stack in all. They get an FI_* variable. It returns them with
// their addresses.
func startRegion(t *testing.T, stack, variable, addr string, children, n int) (region, []core.Addr) {
	t.Helper()
	var g region
	var addrs []core.Addr
	for k := range children {
		ip := netip.AddrFrom4([4]byte{127, byte(64 | os.Getpid()>>8&63), byte(os.Getpid()), byte(2 + k)})
		r := startChild(t, fmt.Sprintf("%s=%s %s %d %s %s", childVar, addr, ip, len(addrs), stack, variable))
		share := (n - len(addrs)) / (children - k)
		for i := range share {
			addrs = append(addrs, core.IPAddr(netip.AddrPortFrom(ip, uint16(childPort+i))))
		}
		r.order(fmt.Sprintf("open %d", share))
		g = append(g, r)
	}
	for _, r := range g {
		r.await()
	}
	return g, addrs
}

func (g region) order(cmd string) {
	for _, r := range g {
		r.order(cmd)
	}
}

func (g region) do(cmd string) {
	g.order(cmd)
	for _, r := range g {
		r.await()
	}
}

// done reports whether all have executed the command. When one has, it waits for the others.
func (g region) done() bool {
	if !g[0].done() {
		return false
	}
	for _, r := range g[1:] {
		r.await()
	}
	return true
}
