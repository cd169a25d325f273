//go:build linux

package netns

// The process inside a namespace. It reads commands and writes what happens, one line each.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
)

const nodeVar = "NETNS_NODE"

// Contexts of operations.
const (
	ctxSend core.OpContext = iota + 1
	ctxStream
	ctxRecv
)

// node is the process' endpoint with its objects.
type node struct {
	mu sync.Mutex // guards the output

	info   *core.Info
	fabric *core.Fabric
	domain *core.Domain
	cq     *core.CompletionQueue
	eq     *core.EventQueue
	av     *core.AddressVector
	ep     *core.Endpoint
	pep    *core.PassiveEndpoint
	eps    []*core.Endpoint // opened by the command endpoint

	out      []byte // sent from
	in       []byte // its content is not checked
	to       core.FIAddr
	streamed int
	prov     string // of the open stack
	kind     core.EPType
	bulk     bulk
}

func nodeMain() {
	if os.Getenv(noXDPVar) != "" {
		if err := forbidXDP(); err != nil {
			fmt.Println("FAIL", err)
			os.Exit(1)
		}
	}
	n := &node{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		f := strings.Fields(in.Text())
		ans, err := n.do(f[0], f[1:])
		if err != nil {
			n.say("FAIL %v", err)
			continue
		}
		n.say("OK %s", ans)
	}
	os.Exit(0)
}

func (n *node) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

// do executes a command.
func (n *node) do(cmd string, args []string) (string, error) {
	var fi, size, count int
	scan := func(to ...any) { fmt.Sscan(strings.Join(args, " "), to...) }
	switch cmd {
	case "infos": // provider: the source addresses on offer, best first
		return infos(args[0])
	case "open": // rdm|msg|dgram|another provider's name, address, port
		n.prov, n.kind = "tcp", core.EPTypeRDM
		switch args[0] {
		case "rdm":
		case "msg":
			n.kind = core.EPTypeMsg
		case "dgram":
			n.prov, n.kind = "udp", core.EPTypeDgram
		default:
			n.prov = args[0]
		}
		return n.open(args[1], args[2])
	case "bulk": // index, size, count: send messages of the pattern
		scan(&fi, &size, &count)
		return "", n.sendBulk(core.FIAddr(fi), size, count)
	case "check": // size, count: receive messages and compare them with the pattern
		scan(&size, &count)
		return "", n.checkBulk(size, count)
	case "stats":
		return n.stats()
	case "link": // sockets, xdp or auto: as core.OptDatapath; answers what is in use then
		return n.link(args[0])
	case "metric": // name: its values in this process, added up
		return metric(args[0])
	case "says": // how the endpoint describes its link
		return fmt.Sprint(n.ep), nil
	case "ways": // provider, address: how endpoints there would use the requested links
		return ways(args[0], args[1])
	case "why": // provider, address: why endpoints there would use sockets
		return why(args[0], args[1])
	case "listen":
		return n.listen()
	case "connect":
		a, err := address(args[0])
		if err != nil {
			return "", err
		}
		if n.ep, err = n.domain.OpenEndpoint(n.info); err != nil {
			return "", err
		}
		return "", errors.Join(n.bind(), n.ep.Enable(), n.ep.Connect(a, nil))
	case "insert":
		a, err := address(args[0])
		if err != nil {
			return "", err
		}
		fi := make([]core.FIAddr, 1)
		_, err = n.av.Insert([]core.Addr{a}, fi, 0)
		return fmt.Sprint(fi[0]), err
	case "send":
		scan(&fi, &size)
		n.out = make([]byte, max(size, len(n.out)))
		err := n.ep.Send(n.out[:size], 0, core.FIAddr(fi), ctxSend)
		for end := time.Now().Add(long); err == core.ErrAgain && time.Now().Before(end); { // as long as many sends fail
			time.Sleep(time.Millisecond) // the domain's goroutine makes progress
			err = n.ep.Send(n.out[:size], 0, core.FIAddr(fi), ctxSend)
		}
		return "", err
	case "stream": // send without end, count at a time
		scan(&fi, &size, &count)
		n.out, n.to = make([]byte, size), core.FIAddr(fi)
		for range count {
			if err := n.ep.Send(n.out, 0, n.to, ctxStream); err != nil {
				return "", err
			}
		}
		return "", nil
	case "recv": // receive without end
		scan(&size, &count)
		n.in = make([]byte, size)
		for range count {
			if err := n.ep.Recv(n.in, 0, core.AddrUnspec, ctxRecv); err != nil {
				return "", err
			}
		}
		return "", nil
	}
	return n.doObject(cmd, args)
}

func address(s string) (core.Addr, error) {
	ap, err := netip.ParseAddrPort(s)
	return core.IPAddr(ap), err
}

func hints(prov string, t core.EPType) *core.Info {
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = core.CapMsg, prov, t
	return h
}

func infos(prov string) (string, error) {
	list, _, err := gofabric.GetInfo(core.Query{Hints: hints(prov, core.EPTypeRDM)})
	if errors.Is(err, core.ErrNoData) {
		return fmt.Sprintf("none: %v", err), nil
	}
	var all []string
	for _, i := range list {
		if s := i.SrcAddr.IP.Addr().String(); len(all) == 0 || all[len(all)-1] != s {
			all = append(all, s)
		}
	}
	return strings.Join(all, " "), err
}

// why returns the reason why endpoints at an address do not use the requested links (FI_UDP_LINK), as ofi info --why
// prints it.
func why(prov, ip string) (string, error) {
	refused, _, err := explain(prov, ip)
	return lines(refused), err
}

// ways returns how endpoints at an address use the requested links, as ofi info --why prints it.
func ways(prov, ip string) (string, error) {
	_, taken, err := explain(prov, ip)
	return lines(taken), err
}

func explain(prov, ip string) ([]core.Refusal, []core.Remark, error) {
	list, _, err := gofabric.GetInfo(core.Query{Node: ip, Flags: core.InfoSource, Hints: hints(prov, core.EPTypeRDM)})
	if err != nil {
		return nil, nil, err
	}
	refused, taken := gofabric.Explain(list)
	return refused, taken, nil
}

// lines joins many lines into one.
func lines[T fmt.Stringer](list []T) string {
	var all []string
	for _, x := range list {
		all = append(all, x.String())
	}
	return strings.Join(all, " | ")
}

// open opens all objects. For an RDM endpoint it returns the name.
func (n *node) open(ip, port string) (string, error) {
	list, _, err := gofabric.GetInfo(core.Query{Node: ip, Service: port,
		Flags: core.InfoSource, Hints: hints(n.prov, n.kind)})
	if err != nil {
		return "", err
	}
	n.info = list[0]
	if n.fabric, err = gofabric.OpenFabric(n.info); err != nil {
		return "", err
	}
	if n.domain, err = n.fabric.OpenDomain(n.info); err != nil {
		return "", err
	}
	if n.cq, err = n.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec}); err != nil {
		return "", err
	}
	go n.completions()
	if n.kind == core.EPTypeMsg {
		n.eq, err = n.fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
		go n.events()
		return "", err
	}
	if n.av, err = n.domain.OpenAV(core.AVAttr{Type: core.AVTable}); err != nil {
		return "", err
	}
	if n.ep, err = n.domain.OpenEndpoint(n.info); err != nil {
		return "", err
	}
	if err := errors.Join(n.bind(), n.ep.BindAV(n.av, 0), n.ep.Enable()); err != nil {
		return "", err
	}
	a, err := n.ep.Name()
	return a.IP.String(), err
}

func (n *node) link(name string) (string, error) {
	err := n.ep.SetOpt(core.OptDatapath,
		int(map[string]core.Datapath{"sockets": core.DatapathSockets,
			"xdp": core.DatapathXDP, "auto": core.DatapathAuto}[name]))
	if err != nil {
		return "", err
	}
	got, err := n.ep.GetOpt(core.OptDatapath)
	return map[core.Datapath]string{core.DatapathSockets: "sockets", core.DatapathXDP: "xdp"}[core.Datapath(got)], err
}

func (n *node) bind() error {
	err := n.ep.BindCQ(n.cq, core.BindTransmit|core.BindRecv)
	if n.eq != nil {
		err = errors.Join(err, n.ep.BindEQ(n.eq, 0))
	}
	return err
}

func (n *node) listen() (string, error) {
	var err error
	if n.pep, err = n.fabric.OpenPassiveEndpoint(n.info); err != nil {
		return "", err
	}
	if err := errors.Join(n.pep.BindEQ(n.eq, 0), n.pep.Listen()); err != nil {
		return "", err
	}
	a, err := n.pep.Name()
	return a.IP.String(), err
}

// completions reports completions and continues streams.
func (n *node) completions() {
	es := make([]core.CQEntry, 16)
	for {
		k, err := n.cq.SRead(context.Background(), es)
		if err == core.ErrAvail {
			var e core.CQErrEntry
			if n.cq.ReadErr(&e) == nil {
				n.say("ERR %s %s %s %s", what(e.Ctx), e.Err.Name(), e.Peer.IP, e.Detail)
			}
			continue
		}
		if err != nil {
			n.say("FAIL completion queue: %v", err)
			return
		}
		for _, e := range es[:k] {
			n.completed(e)
		}
	}
}

func what(c core.OpContext) string {
	if c > ctxRecv {
		return "bulk"
	}
	return [...]string{"?", "send", "stream", "recv"}[c]
}

func (n *node) completed(e core.CQEntry) {
	if e.Ctx > ctxRecv {
		n.bulkCompleted(e)
		return
	}
	switch e.Ctx {
	case ctxSend:
		n.say("SENT")
	case ctxStream:
		if n.streamed++; n.streamed%64 == 0 {
			n.say("STREAMED %d", n.streamed)
		}
		if err := n.ep.Send(n.out, 0, n.to, ctxStream); err != nil {
			n.say("STOP %v", err)
		}
	case ctxRecv:
		if e.Len < 1<<10 {
			n.say("RECEIVED %d", e.Len)
		}
		if err := n.ep.Recv(n.in, 0, core.AddrUnspec, ctxRecv); err != nil {
			n.say("STOP %v", err)
		}
	}
}

// events reports events and accepts connection requests.
func (n *node) events() {
	for {
		var ev core.EQEvent
		err := n.eq.SRead(context.Background(), &ev, 0)
		switch {
		case err == core.ErrAvail:
			var e core.EQErrEntry
			if n.eq.ReadErr(&e, 0) == nil {
				n.say("EQERR %s %s", e.Err.Name(), e.Detail)
			}
		case err != nil:
			n.say("FAIL event queue: %v", err)
			return
		case ev.Type == core.EventConnReq:
			if err := n.accept(ev.Info); err != nil {
				n.say("FAIL accept: %v", err)
			}
		case ev.Type == core.EventConnected:
			n.say("CONNECTED")
		case ev.Type == core.EventShutdown:
			n.say("SHUTDOWN")
		}
	}
}

func (n *node) accept(info *core.Info) error {
	var err error
	if n.ep, err = n.domain.OpenEndpoint(info); err != nil {
		return err
	}
	return errors.Join(n.bind(), n.ep.Enable(), n.ep.Accept(nil))
}
