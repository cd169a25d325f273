package conform

// The far side runs in a process of its own. It is a child of the test, reads commands from its standard input, and
// answers on its standard output.

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"gofabric/core"
)

// order is a command for the far side.
type order struct {
	Op     string // insert, accept, recv, send, want, data, reg, mem, close
	Addr   string // for insert: the near side's name
	N      int    // for recv and reg: length in bytes
	Msg    []byte // for send: the message; for mem: content to write into the region first, if not nil
	Tagged bool
	Tag    uint64
	CQData bool // send the message with cqData
	Ctx    core.OpContext
}

// answer is the result of an order.
type answer struct {
	Err       string
	Addr      string // of the far side, in the first answer
	Buf       []byte // for want: the received message; for mem: the content of the region
	Flags     core.CompFlags
	Data, Tag uint64
	Base, Key uint64
}

// farEnv is set in a far side's process.
const farEnv = "GOFABRIC_FAR_SIDE"

// IsFar reports whether this process is a far side, over the stack of the given name.
func IsFar(name string) bool { return os.Getenv(farEnv) == name }

// farCaps returns the capabilities of both sides.
func farCaps(t testing.TB, st Stack) core.Caps {
	caps := core.CapMsg | core.CapRMA
	for _, c := range []core.Caps{core.CapTagged, core.CapAtomic} {
		if st.Offers(t, c) {
			caps |= c
		}
	}
	return caps
}

// Model is a progress model with a threading model (fi_domain(3)).
type Model struct {
	Progress  core.Progress
	Threading core.Threading
}

// ask requests the model.
func (m Model) ask() Option {
	return WithHints(func(h *core.Info) {
		h.Domain.DataProgress, h.Domain.ControlProgress, h.Domain.Threading = m.Progress, m.Progress, m.Threading
	})
}

// far is the state of the far side.
type far struct {
	p    *Pair // both of its sides are this one
	s    *Side
	bufs map[core.OpContext][]byte
	mem  []byte
	mr   *core.MemoryRegion
}

// ServeFar is the far side's test. It opens st and executes commands until one says close, or its input ends.
func ServeFar(t *testing.T, st Stack, m Model) {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	s := openSide(t, st, "far", makeConfig([]Option{WithCaps(farCaps(t, st)), m.ask()}), nil)
	f := &far{p: &Pair{T: t, Stack: st, A: s, B: s}, s: s, bufs: map[core.OpContext][]byte{}}
	if st.EPType == core.EPTypeMsg {
		f.p.listen()
	} else {
		s.openEP(s.Info)
		s.Addr = must(t, "Name", s.EP.Name)
	}
	if err := out.Encode(answer{Addr: s.Addr.IP.String()}); err != nil {
		t.Fatal(err)
	}
	orders := make(chan order)
	go func() {
		defer close(orders)
		for {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			orders <- o
		}
	}()
	for {
		select {
		case o, ok := <-orders:
			if !ok || o.Op == "close" {
				f.close()
				return
			}
			if err := out.Encode(f.obey(o)); err != nil {
				t.Fatal(err)
			}
		case <-time.After(100 * time.Microsecond):
			if m.Progress == core.ProgressManual {
				s.Pump()
			}
		}
	}
}

func (f *far) close() {
	if f.mr != nil {
		f.s.ok("Close MR", f.mr.Close())
	}
	f.s.CloseEP()
	f.s.Close()
}

// obey executes a command.
func (f *far) obey(o order) (a answer) {
	s, p := f.s, f.p
	switch o.Op {
	case "insert":
		s.Peer = s.Insert(core.IPAddr(netip.MustParseAddrPort(o.Addr)))
	case "accept":
		req := s.WantEvent(core.EventConnReq)
		s.openEP(req.Info)
		s.ok("Accept", s.EP.Accept(nil))
		s.WantEvent(core.EventConnected)
	case "recv":
		f.bufs[o.Ctx] = make([]byte, o.N)
		p.Retry("recv", func() error {
			if o.Tagged {
				return s.Rx().TRecv(f.bufs[o.Ctx], 0, core.AddrUnspec, o.Tag, 0, o.Ctx)
			}
			return s.Rx().Recv(f.bufs[o.Ctx], 0, core.AddrUnspec, o.Ctx)
		})
	case "send":
		p.Retry("send", func() error { return sendTo(s, o) })
	case "want":
		g := p.Want(s, o.Ctx)
		a.Flags, a.Data, a.Tag = g.Flags, g.Data, g.Tag
		if b, ok := f.bufs[o.Ctx]; ok {
			a.Buf = b[:g.Len]
			delete(f.bufs, o.Ctx)
		}
	case "data":
		g := p.WantWhere(s, "remote CQ data", func(g *Got) bool { return g.Flags&core.CompRemoteWrite != 0 })
		a.Flags, a.Data = g.Flags, g.Data
	case "reg":
		f.mem = make([]byte, o.N)
		f.mr = s.Reg(f.mem, allAccess)
		a.Base, a.Key = f.mr.Base(), f.mr.Key()
	case "mem":
		// Calls into the library before and after are for the race detector, which sees no order through the other
		// process.
		s.Pump()
		copy(f.mem, o.Msg)
		a.Buf = bytes.Clone(f.mem)
		s.Pump()
	default:
		a.Err = "no such command: " + o.Op
	}
	return a
}

// sendTo posts the message of o to the side's peer.
func sendTo(s *Side, o order) error {
	switch {
	case o.Tagged && o.CQData:
		return s.EP.TSendData(o.Msg, 0, cqData, s.Peer, o.Tag, o.Ctx)
	case o.Tagged:
		return s.EP.TSend(o.Msg, 0, s.Peer, o.Tag, o.Ctx)
	case o.CQData:
		return s.EP.SendData(o.Msg, 0, cqData, s.Peer, o.Ctx)
	}
	return s.EP.Send(o.Msg, 0, s.Peer, o.Ctx)
}

// child is the near side's view of a far side.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *gob.Decoder
	enc *gob.Encoder
}

// startFar starts this test binary again, as the far side of test.
func startFar(t *testing.T, test, name string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), farEnv+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{t: t, cmd: cmd, in: in, out: gob.NewDecoder(out), enc: gob.NewEncoder(in)}
}

// tell sends a command and does not wait for the answer.
func (c *child) tell(o order) {
	c.t.Helper()
	if err := c.enc.Encode(o); err != nil {
		c.t.Fatalf("the far side does not read commands: %v", err)
	}
}

// answer waits for the answer to the oldest command without one. p makes progress meanwhile.
func (c *child) answer(p *Pair) answer {
	c.t.Helper()
	var a answer
	done := make(chan error, 1)
	go func() { done <- c.out.Decode(&a) }()
	end := time.After(2 * Deadline)
	for {
		select {
		case err := <-done:
			if err == nil && a.Err != "" {
				err = errors.New(a.Err)
			}
			if err != nil {
				c.t.Fatalf("the far side: %v", err)
			}
			return a
		case <-time.After(50 * time.Microsecond):
			if p != nil {
				p.Progress()
			}
		case <-end:
			_ = c.cmd.Process.Kill()
			c.t.Fatalf("the far side has not answered")
		}
	}
}

// do sends a command and waits for its answer.
func (c *child) do(p *Pair, o order) answer {
	c.t.Helper()
	c.tell(o)
	return c.answer(p)
}

// close makes the child close everything, and fails if the child's own test fails.
func (c *child) close() {
	c.t.Helper()
	if c.t.Failed() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		return
	}
	c.tell(order{Op: "close"})
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the far side ended with %v", err)
	}
}
