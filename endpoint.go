package gofabric

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
)

// Peer is another endpoint: an index into the address vector of this one (fi_addr_t, fi_av(3)).
type Peer core.FIAddr

// AnyPeer as the source of a receive means any sender, and in Received an unknown one (FI_ADDR_UNSPEC). The calls of
// a connected endpoint, which has one peer, take it too.
const AnyPeer = Peer(core.AddrUnspec)

// Connected is the one peer of a connected endpoint, from Dial or Accept.
const Connected = AnyPeer

// Endpoint is an endpoint with all objects that it needs: fabric, domain, completion queue, and address vector or
// event queue.
//
// # Waiting
//
// A transfer call returns when the operation is complete or its context ends. Any number of goroutines may call at
// the same time. A send is complete when its buffer may be used again. To make it wait until the message has arrived,
// put core.OpDeliveryComplete into Tx.OpFlags of Config.Hints.
//
// When its context ends, a call cancels its operation (fi_cancel(3)) and waits until that is done. It returns a
// *core.OpError that wraps core.ErrTimedOut or core.ErrCanceled and the context's cause. If the operation completes
// at that moment, the call returns its result, so no message is lost. After the return no code reads or writes the
// buffer.
//
// A receive for which no message has begun, and a send that has not begun, are cancelled at once. An operation in the
// middle of its transfer has Config.CancelGrace to complete. Then the connection to the peer is broken. If that does
// not help, or if the provider cannot break the connection to one peer, the endpoint is closed, and its other calls
// fail with core.ErrCanceled.
type Endpoint struct {
	base   *base
	ep     *core.Endpoint
	srx    *core.SharedRx      // where receives are posted, if the provider receives through one
	av     *core.AddressVector // nil if connected
	eq     *core.EventQueue    // of connected endpoints
	name   core.Addr
	peer   core.Addr       // of connected endpoints
	cmd    []byte          // private data that came with the connection
	reg    host.Registered // nil without Config.Name
	grace  time.Duration
	linger time.Duration // negative: the provider's time

	// See watch.go.
	lost    atomic.Bool // the connection has ended
	silent  atomic.Bool // CloseWrite was called
	watched atomic.Bool

	// mu is held for reading while an operation is posted or cancelled, so that the endpoint is not closed in the
	// meantime.
	mu      sync.RWMutex
	closed  bool
	stopErr error
	calls   sync.WaitGroup // calls in progress
	regions map[*Memory]struct{}

	once     sync.Once
	closeErr error
}

// Open opens an endpoint that communicates with any number of peers. It has reliable datagrams (core.EPTypeRDM), or
// the type in cfg.Type. ctx is only for the opening. Close the endpoint with Close.
//
// The error is a *core.OpError. It is core.ErrNoData if no provider fulfils cfg; its Hint says why.
func Open(ctx context.Context, cfg Config) (*Endpoint, error) {
	c := configure(cfg)
	if c.Type == core.EPTypeUnspec && (c.Hints == nil || c.Hints.EP.Type == core.EPTypeUnspec) {
		c.Type = core.EPTypeRDM
	}
	q := c.query(c.Node, c.Service, true)
	if q.Hints.EP.Type == core.EPTypeMsg {
		return nil, &core.OpError{Op: "fi_endpoint", Provider: c.Provider, Err: core.ErrInval, Hint: "open endpoints of type MSG with Dial or Listen"}
	}
	if ctx.Err() != nil {
		return nil, &core.OpError{Op: "fi_endpoint", Provider: c.Provider, Err: ended(context.Cause(ctx))}
	}
	info, err := c.system.choose(c, q)
	if err != nil {
		return nil, err
	}
	b, err := openBase(c.system, info)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{base: b, grace: c.grace, linger: c.linger}
	if err = e.open(info, c.Peers); err == nil {
		e.reg, err = c.register(ctx, info, e.name)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// open opens and enables the core endpoint. After an error Close frees the opened objects. Fields are set on success
// only, because an interface that holds a nil pointer is not nil.
func (e *Endpoint) open(info *core.Info, peers int) error {
	ep, err := e.base.domain.OpenEndpoint(info)
	if err != nil {
		return err
	}
	e.ep = ep
	if err = e.ep.BindCQ(e.base.hub.cq, core.BindTransmit|core.BindRecv); err != nil {
		return err
	}
	if info.EP.Type == core.EPTypeMsg {
		eq, err := e.base.fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
		if err != nil {
			return err
		}
		e.eq = eq
		if err = e.ep.BindEQ(e.eq, 0); err != nil {
			return err
		}
	} else {
		av, err := e.base.domain.OpenAV(core.AVAttr{Type: core.AVTable, Count: peers})
		if err != nil {
			return err
		}
		e.av = av
		if err = e.ep.BindAV(e.av, 0); err != nil {
			return err
		}
	}
	// tcp's connected endpoints have tagged messages only with a shared receive context.
	if info.EP.RxCtxCnt == core.SharedContext {
		srx, err := e.base.domain.OpenSRX(info.Rx)
		if err != nil {
			return err
		}
		e.srx = srx
		if err = e.ep.BindSRX(e.srx); err != nil {
			return err
		}
	}
	if err = e.ep.Enable(); err != nil {
		return err
	}
	if err = e.setLinger(); err != nil {
		return err
	}
	if info.EP.Type != core.EPTypeMsg {
		e.name, err = e.ep.Name()
	}
	return err
}

// setLinger sets how long Close waits.
func (e *Endpoint) setLinger() error {
	if e.linger < 0 {
		return nil
	}
	err := e.ep.SetOpt(core.OptLinger, int(e.linger/time.Millisecond))
	if errors.Is(err, core.ErrNoProtoOpt) { // datagram endpoints do not wait
		err = nil
	}
	return err
}

// Name returns the endpoint's address, which peers pass to Insert or InsertAddr (fi_getname(3)).
func (e *Endpoint) Name() core.Addr { return e.name }

// PeerName returns the address of a connected endpoint's peer (fi_getpeer(3)). Other endpoints return the zero Addr.
func (e *Endpoint) PeerName() core.Addr { return e.peer }

// PrivateData returns the data that the peer sent with the connection: Config.PrivateData of the side that dialled,
// or the argument of the listener's Accept. The caller owns it.
func (e *Endpoint) PrivateData() []byte { return e.cmd }

// Info returns the description of the endpoint (struct fi_info). The caller must not change it.
func (e *Endpoint) Info() *core.Info { return e.base.info }

// Core returns the core endpoint, for calls that this package does not have. This package reads its completion queue
// and drops completions that it does not know, so operations posted to the core endpoint should not ask for one.
func (e *Endpoint) Core() *core.Endpoint { return e.ep }

// Domain returns the core domain.
func (e *Endpoint) Domain() *core.Domain { return e.base.domain }

// Insert adds a peer to the address vector (fi_av_insertsvc(3)). addr is "node7:7471", "10.0.0.7:7471" or
// "[fe80::1]:7471"; or an address with a scheme, as Name prints it, such as "fi_sockaddr_in://10.0.0.7:7471"; or
// "fabric://job/3", the name that the peer registered at this node's fabricd (Config.Name).
//
// Insert sends nothing. If there is no such peer, the first transfer fails.
func (e *Endpoint) Insert(addr string) (Peer, error) {
	const name = "fi_av_insertsvc"
	if isName(addr) {
		return e.insertSvc(name, addr, addr, "")
	}
	if strings.Contains(addr, "://") {
		a, err := core.ParseAddr(addr)
		if err != nil {
			return AnyPeer, e.opError(name, AnyPeer, err, "write an address as fi_sockaddr_in://1.2.3.4:7471 or node:port")
		}
		return e.InsertAddr(a)
	}
	node, service, err := net.SplitHostPort(addr)
	if err != nil {
		return AnyPeer, e.opError(name, AnyPeer, &cause{core.ErrInval, err}, "pass node and port, such as node7:7471")
	}
	return e.insertSvc(name, addr, node, service)
}

func (e *Endpoint) insertSvc(name, addr, node, service string) (Peer, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.usable(name); err != nil {
		return AnyPeer, err
	}
	if e.av == nil {
		return AnyPeer, e.opError(name, AnyPeer, core.ErrOpNotSupp, "a connected endpoint reaches only the peer to which it is connected")
	}
	fi, err := e.av.InsertSvc(node, service, 0)
	if err != nil {
		return AnyPeer, e.peerError(name, addr, err)
	}
	return Peer(fi), nil
}

// InsertAddr adds a peer by its address, which is its Name (fi_av_insert(3)).
func (e *Endpoint) InsertAddr(a core.Addr) (Peer, error) {
	const name = "fi_av_insert"
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.usable(name); err != nil {
		return AnyPeer, err
	}
	if e.av == nil {
		return AnyPeer, e.opError(name, AnyPeer, core.ErrOpNotSupp, "a connected endpoint reaches only the peer to which it is connected")
	}
	fi := [1]core.FIAddr{core.AddrNotAvail}
	n, err := e.av.Insert([]core.Addr{a}, fi[:], 0)
	if err == nil && (n != 1 || fi[0] == core.AddrNotAvail) {
		err = core.ErrInval
	}
	if err != nil {
		return AnyPeer, e.peerError(name, a.String(), err)
	}
	return Peer(fi[0]), nil
}

func (e *Endpoint) peerError(name, peer string, err error) error {
	var have *core.OpError
	if errors.As(err, &have) {
		return err
	}
	return &core.OpError{Op: name, Provider: e.base.info.Fabric.ProvName, Object: e.name.String(), Peer: peer, Err: err}
}

// Remove removes a peer from the address vector (fi_av_remove(3)). No transfer with it may be in progress.
func (e *Endpoint) Remove(p Peer) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.usable("fi_av_remove"); err != nil {
		return err
	}
	if e.av == nil {
		return e.opError("fi_av_remove", p, core.ErrOpNotSupp, "a connected endpoint reaches only the peer to which it is connected")
	}
	return e.av.Remove([]core.FIAddr{core.FIAddr(p)}, 0)
}

// Lookup returns the address of a peer (fi_av_lookup(3)).
func (e *Endpoint) Lookup(p Peer) (core.Addr, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.usable("fi_av_lookup"); err != nil {
		return core.Addr{}, err
	}
	if e.av == nil {
		return e.peer, nil
	}
	return e.av.Lookup(core.FIAddr(p))
}

// usable is called with mu held.
func (e *Endpoint) usable(name string) error {
	if e.closed {
		return e.opError(name, AnyPeer, core.ErrShutdown, "the endpoint is closed")
	}
	return nil
}

// CloseWrite announces to the peer of a connected endpoint that no more messages follow, as shutdown(2) does with
// SHUT_WR; libfabric has no such call. The peer's receives return io.EOF after the last message. Messages from the
// peer still arrive. Later sends here fail with core.ErrShutdown. CloseWrite fails with core.ErrOpNotSupp if the
// provider or the peer (native libfabric) has no half-closed connections.
func (e *Endpoint) CloseWrite() error {
	const name = "fi_shutdown"
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.usable(name); err != nil {
		return err
	}
	if e.eq == nil {
		return e.opError(name, Connected, core.ErrOpNotSupp, "only connected endpoints can close one direction")
	}
	if err := e.ep.CloseWrite(); err != nil {
		return err
	}
	e.silent.Store(true)
	return nil
}

// Close closes the endpoint and all objects that were opened with it, memory regions included (fi_close(3)). It first
// delivers the sent messages to every peer that is alive, and waits for that up to Config.Linger. An error that wraps
// core.ErrTimedOut means that not all were delivered. The peer of a connected endpoint then gets io.EOF. Calls in
// progress return core.ErrCanceled. Closing again does nothing and returns the same error.
func (e *Endpoint) Close() error {
	e.once.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Endpoint) close() error {
	if e.reg != nil {
		e.reg.Close()
	}
	stopped := e.stop()
	e.calls.Wait()
	var objs []core.Object
	e.mu.Lock()
	for m := range e.regions {
		objs = append(objs, m.mr)
	}
	e.regions = nil
	e.mu.Unlock()
	if e.av != nil {
		objs = append(objs, e.av)
	}
	if e.eq != nil {
		objs = append(objs, e.eq)
	}
	return errors.Join(stopped, CloseAll(objs...), e.base.release())
}

// stop closes the core endpoint and ends all calls. After it the provider uses no buffer.
func (e *Endpoint) stop() error {
	e.mu.Lock()
	was := e.closed
	e.closed = true
	if !was && e.ep != nil {
		e.stopErr = e.ep.Close()
	}
	if !was && e.srx != nil { // the receives are not the endpoint's
		e.stopErr = errors.Join(e.stopErr, e.srx.Close())
	}
	err := e.stopErr
	e.mu.Unlock()
	if !was {
		if e.watched.Swap(false) {
			e.base.hub.unwatch()
		}
		e.base.hub.abandon(e)
	}
	return err
}
