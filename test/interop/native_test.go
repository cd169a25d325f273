package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"gofabric/core"
	"gofabric/test/need"
)

// This file has the stacks that run against testdata/peer.c, and the tests over them.

// nativeStack is a native stack and our stack that connects to it.
type nativeStack struct {
	name     string
	kind     core.EPType
	provider string // in the peer's library
	ours     string // in ours, if different
	program  peerProgram
	more     core.Caps // capabilities of our end that not all tests need
}

func (s nativeStack) kindName() string {
	if s.kind == core.EPTypeMsg {
		return "msg"
	}
	return "rdm"
}

// link opens our end and n peers. They are not connected yet.
func (s nativeStack) link(t *testing.T, n int) *link {
	ours := s.ours
	if ours == "" {
		ours = s.provider
	}
	l := &link{t: t, ours: openOurs(t, ours, s.kind, s.more), net: s.provider == "net",
		inject: injectSize, sizesOf: transferSizes}
	if s.provider == rxm {
		l.inject = rxmInject
	}
	for range n {
		l.natives = append(l.natives, startPeer(t, s.program, s.provider, s.kindName()))
	}
	return l
}

// eachNative runs f over the native stacks that are installed, only those of one kind unless it is 0.
func eachNative(t *testing.T, kind core.EPType, f func(t *testing.T, s nativeStack)) {
	stacks := []struct {
		nativeStack
		missing func(t *testing.T) peerProgram
	}{
		{nativeStack{name: "debian msg", kind: core.EPTypeMsg, provider: "tcp"}, needDebian},
		{nativeStack{name: "debian net rdm", kind: core.EPTypeRDM, provider: "net", ours: "tcp"}, needNet},
		{nativeStack{name: "native 2 msg", kind: core.EPTypeMsg, provider: "tcp"}, needNative2},
		{nativeStack{name: "native 2 rdm", kind: core.EPTypeRDM, provider: "tcp"}, needNative2},
	}
	for _, s := range stacks {
		if kind != 0 && s.kind != kind {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			s.program = s.missing(t)
			f(t, s.nativeStack)
		})
	}
}

// headers checks whether the peer can be compiled.
var headers = sync.OnceValue(func() error {
	return exec.Command("gcc", "-E", "-include", "rdma/fabric.h", "-x", "c", os.DevNull).Run()
})

func needDebian(t *testing.T) peerProgram {
	t.Helper()
	if err := headers(); err != nil {
		need.Missing(t, "there is no gcc, or no rdma/fabric.h: apt install gcc libfabric-dev (%v)", err)
	}
	p := debianPeer()
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p
}

func needNet(t *testing.T) peerProgram {
	t.Helper()
	p := needDebian(t)
	if err := exec.Command(p.path, "-probe", "net", "rdm").Run(); err != nil {
		t.Skipf("this libfabric has no provider net, which has been part of tcp since 1.18: %v", err)
	}
	return p
}

func needNative2(t *testing.T) peerProgram {
	t.Helper()
	prefix := os.Getenv(envPrefix)
	if prefix == "" {
		t.Skipf("%s is not set: build libfabric 2.x and set it to its prefix", envPrefix)
	}
	if _, err := os.Stat(filepath.Join(prefix, "include", "rdma", "fabric.h")); err != nil {
		t.Fatalf("%s: %v", envPrefix, err)
	}
	p := native2Peer()
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p
}

// join connects our end and a peer. The private data are passed with connect and accept. Where connections are made
// implicitly, oursConnects says which end sends first.
func (l *link) join(n *native, oursConnects bool, asked, answered []byte) {
	l.t.Helper()
	if l.ours.av != nil {
		name, err := l.ours.name()
		l.must(err)
		l.tell(n, "insert %s", name)
		l.must(l.ours.insert(l.tell(n, "name")))
		from, to := end(l.ours), end(n)
		if !oursConnects {
			from, to = to, from
		}
		l.flush(from, to)
		return
	}
	active, passive := l.request(n, oursConnects, asked)
	if oursConnects {
		l.tell(n, "accept %s", hexData(answered))
	} else {
		l.must(l.ours.accept(answered))
	}
	l.event(passive, "connected")
	if ev := l.event(active, "connected"); string(ev.data) != string(answered) {
		l.t.Fatalf("%T got %d bytes with the answer, %x; want %x", active, len(ev.data), ev.data, answered)
	}
}

// request has one end request a connection from the other.
func (l *link) request(n *native, oursConnects bool, asked []byte) (active, passive end) {
	l.t.Helper()
	if oursConnects {
		active, passive = l.ours, n
		l.must(l.ours.connect(l.tell(n, "name"), asked))
	} else {
		active, passive = n, l.ours
		name, err := l.ours.name()
		l.must(err)
		l.tell(n, "connect %s %s", name, hexData(asked))
	}
	if ev := l.event(passive, "connreq"); string(ev.data) != string(asked) {
		l.t.Fatalf("%T got %d bytes with the request, %x; want %x", passive, len(ev.data), ev.data, asked)
	}
	return active, passive
}

// flush sends a message from one end to the other behind all that it has posted, and waits for it. By then everything
// before has arrived.
func (l *link) flush(from, to end) {
	l.t.Helper()
	recv, send := l.context(), l.context()
	l.post(to, op{call: "recv", ctx: recv, off: bufSize - 8, length: 8})
	l.post(from, op{call: "send", ctx: send, off: bufSize - 8, length: 8})
	l.good(from, send)
	l.good(to, recv)
}
