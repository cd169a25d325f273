//go:build linux

package telemetry

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
)

// The test's program is also the processes that work in nodes of the fabric: a target, and a source that sends to it.
// They print what the other must know, and read commands from their input, one line each.

// envWork holds the role, the stack and the address: "source tcp 10.77.0.1".
const envWork = "GOFABRIC_TEST_WORK"

// work is the state of such a process.
type work struct {
	ctx   context.Context
	stack stack
	node  string
	in    *bufio.Scanner
	ep    *gofabric.Endpoint
	spare *gofabric.Endpoint // keeps the process registered with the daemon when ep is closed
	peer  gofabric.Peer
	to    string
	mem   gofabric.RemoteMemory
}

// runWork runs the process.
func runWork(what string) error {
	f := strings.Fields(what)
	w := &work{ctx: context.Background(), stack: stackOf(f[1]), node: f[2], in: bufio.NewScanner(os.Stdin)}
	if f[0] == "source" {
		return w.source()
	}
	return w.target()
}

// next returns the next command of the test.
func (w *work) next() string {
	if !w.in.Scan() {
		os.Exit(0) // the test has ended
	}
	return w.in.Text()
}

func (w *work) config() gofabric.Config {
	return gofabric.Config{Provider: w.stack.provider, Node: w.node, Type: w.stack.kind, Caps: w.stack.caps()}
}

// open opens the endpoint. With connected endpoints the target listens, and the source connects.
func (w *work) open(target bool) (err error) {
	if w.spare, err = gofabric.Open(w.ctx,
		gofabric.Config{Provider: w.stack.provider, Node: w.node, Type: w.stack.unconnected()}); err != nil {
		return err
	}
	switch {
	case !w.stack.connected():
		if w.ep, err = gofabric.Open(w.ctx, w.config()); err != nil {
			return err
		}
		fmt.Println(w.ep.Name().IP)
		w.to = w.next()
		w.peer, err = w.ep.Insert(w.to)
	case target:
		var l *gofabric.Listener
		if l, err = gofabric.Listen(w.ctx, w.node+":0", w.config()); err != nil {
			return err
		}
		fmt.Println(l.Addr().IP)
		w.next()
		w.ep, err = l.Accept(w.ctx)
		w.peer = gofabric.Connected
		go func() {
			for {
				if _, err := l.Accept(w.ctx); err != nil {
					return
				}
			}
		}()
	default:
		fmt.Println("none")
		w.to = w.next()
		w.ep, err = gofabric.Dial(w.ctx, w.to, w.config())
		w.peer = gofabric.Connected
	}
	return err
}

// target receives, and registers memory for peers.
func (w *work) target() error {
	if err := w.open(true); err != nil {
		return err
	}
	if w.stack.reliable() {
		m, err := w.ep.Register(make([]byte, 1<<16), core.AccessRemoteRead|core.AccessRemoteWrite)
		if err != nil {
			return err
		}
		r, err := m.Remote().MarshalBinary()
		if err != nil {
			return err
		}
		fmt.Println(hex.EncodeToString(r))
	} else {
		fmt.Println("none")
	}
	ctx, pause := context.WithCancel(w.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 1<<15)
		for ctx.Err() == nil {
			w.ep.Recv(ctx, gofabric.AnyPeer, buf)
		}
	})
	w.next()
	pause() // messages from now on are unexpected
	wg.Wait()
	fmt.Println("paused")
	w.next()
	if _, err := w.ep.Recv(w.ctx, gofabric.AnyPeer, make([]byte, 16)); err == nil { // shorter than the next message
		return fmt.Errorf("a message of 1000 bytes fits into 16")
	}
	for i := range 1 << 20 { // until there is no room for more
		if w.ep.Core().Recv(make([]byte, 1000), 0, core.AddrUnspec, 1<<40+core.OpContext(i)) != nil {
			break
		}
	}
	fmt.Println("full")
	for {
		w.next()
	}
}

// source sends.
func (w *work) source() error {
	if err := w.open(false); err != nil {
		return err
	}
	if b, err := hex.DecodeString(w.next()); err == nil {
		if err := w.mem.UnmarshalBinary(b); err != nil {
			return err
		}
	}
	stop := make(chan struct{})
	go func() {
		w.next()
		close(stop)
	}()
	if err := w.traffic(stop); err != nil {
		return err
	}
	fmt.Println("sent")
	w.next()
	for range 20 { // the target posts no receives now
		if err := w.ep.Send(w.ctx, w.peer, make([]byte, 1000)); err != nil {
			return err
		}
	}
	r, err := w.openRaw()
	if err != nil {
		return err
	}
	fmt.Println("unexpected")
	if err := w.unheard(); err != nil {
		return err
	}
	r.flood(w.stack.size()) // the network is partitioned
	fmt.Println("flooded")
	w.next()
	w.ep.Close() // the spare one stays open
	fmt.Println("closed")
	for {
		w.next()
	}
}

// unheard waits for the next command. With datagrams it keeps sending until then: a target drops none before it keeps
// as many as it may, and on a busy machine an unknown number of them reach it.
func (w *work) unheard() (err error) {
	told := make(chan struct{})
	go func() {
		w.next()
		close(told)
	}()
	for !w.stack.reliable() && err == nil {
		select {
		case <-told:
			return nil
		default:
			err = w.ep.Send(w.ctx, w.peer, make([]byte, 1000))
		}
	}
	<-told
	return err
}

// traffic sends messages and accesses remote memory until the test stops it, and at least once, so that there is a
// connection.
func (w *work) traffic(stop chan struct{}) error {
	buf := make([]byte, 1000)
	if w.stack.reliable() {
		buf = make([]byte, 1<<13)
		if _, err := w.ep.Register(make([]byte, 4096), core.AccessRemoteRead); err != nil {
			return err
		}
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			if i > 0 {
				return nil
			}
		default:
		}
		if err := w.ep.Send(w.ctx, w.peer, buf); err != nil {
			return err
		}
		for range 16 { // many small operations, because one in 256 is timed
			if err := w.ep.Send(w.ctx, w.peer, buf[:64]); err != nil {
				return err
			}
		}
		if i%8 != 0 || !w.stack.reliable() {
			continue
		}
		if err := w.ep.Write(w.ctx, w.peer, buf[:4096], w.mem, 0); err != nil {
			return err
		}
		if err := w.ep.Read(w.ctx, w.peer, buf[:4096], w.mem, 0); err != nil {
			return err
		}
	}
}

// raw is an endpoint whose completions are not read.
type raw struct {
	ep   *core.Endpoint
	dest core.FIAddr
}

// openRaw opens a raw endpoint beside the other, and does one operation of each kind on it.
func (w *work) openRaw() (*raw, error) {
	info, d := w.ep.Info().Dup(), w.ep.Domain()
	info.SrcAddr = w.spare.Name()
	info.SrcAddr.IP = netip.AddrPortFrom(info.SrcAddr.IP.Addr(), 0)
	ep, err := d.OpenEndpoint(info)
	if err != nil {
		return nil, err
	}
	r := &raw{ep: ep}
	cq, err := d.OpenCQ(core.CQAttr{Format: core.CQFormatData})
	if err == nil {
		err = ep.BindCQ(cq, core.BindTransmit|core.BindRecv)
	}
	if err == nil {
		err = r.meet(w, info)
	}
	if err != nil || !w.stack.reliable() {
		if err == nil {
			r.ep.Send(make([]byte, 100), 0, r.dest, 1)
		}
		return r, err
	}
	one := make([]byte, 8)
	args := core.AtomicArgs{IOV: [][]byte{one}, Addr: r.dest,
		RMAIOC: []core.RMAIoc{{Addr: w.mem.Base, Count: 1, Key: w.mem.Key}}, Type: core.Uint64, Op: core.AtomicSum}
	result := [][]byte{make([]byte, 8)}
	r.again(func() error { return ep.Atomic(&args, 0) })
	r.again(func() error { return ep.FetchAtomic(&args, result, nil, 0) })
	args.Op = core.AtomicCSwap
	r.again(func() error { return ep.CompareAtomic(&args, [][]byte{one}, nil, result, nil, 0) })
	go func() { // progress without room for completions
		for {
			cq.Read(nil)
		}
	}()
	return r, nil
}

// again posts until there is room.
func (r *raw) again(post func() error) {
	for {
		if err := post(); err != core.ErrAgain {
			if err != nil {
				fmt.Println("error:", err)
			}
			return
		}
	}
}

// meet inserts the target's address as a peer of the endpoint.
func (r *raw) meet(w *work, info *core.Info) error {
	d := w.ep.Domain()
	if !w.stack.connected() {
		v, err := d.OpenAV(core.AVAttr{Type: core.AVTable})
		if err == nil {
			err = r.ep.BindAV(v, 0)
		}
		if err == nil {
			err = r.ep.Enable()
		}
		if err == nil {
			a, e := w.ep.Lookup(w.peer)
			if e != nil {
				return e
			}
			fi := []core.FIAddr{0}
			_, err = v.Insert([]core.Addr{a}, fi, 0, nil)
			r.dest = fi[0]
		}
		return err
	}
	eq, err := d.Fabric().OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
	if err == nil {
		err = r.ep.BindEQ(eq, 0)
	}
	if err == nil {
		err = r.ep.Enable()
	}
	if err == nil {
		err = r.ep.Connect(w.ep.PeerName(), nil)
	}
	if err == nil {
		var ev core.EQEvent
		err = eq.SRead(w.ctx, &ev, 0)
	}
	return err
}

// flood sends until there is no room for more.
func (r *raw) flood(size int) {
	buf := make([]byte, size)
	for range 1 << 14 {
		if r.ep.Send(buf, 0, r.dest, 7) == core.ErrAgain {
			return
		}
	}
}
