package gofabric

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"gofabric/core"
	"gofabric/internal/host"
)

// This file has the passive side of connections (fi_passive_ep(3), fi_cm(3)).

// Listener accepts connections (struct fid_pep, fi_passive_ep(3)). Its endpoints share its fabric, domain and
// completion queue, which stay open until the last of them is closed.
type Listener struct {
	base *base
	pep  *core.PassiveEndpoint
	eq   *core.EventQueue
	addr core.Addr
	cfg  *config
	reg  host.Registered // nil without Config.Name

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	err    error
	once   sync.Once
}

// Listen listens at addr (fi_listen(3)): "node:port", or ":port" for all interfaces. With port 0 the system chooses a
// port, and Addr returns it. ctx is only for the opening. Close the listener with Close.
func Listen(ctx context.Context, addr string, cfg Config) (*Listener, error) {
	const name = "fi_listen"
	c := configure(cfg)
	c.Type = core.EPTypeMsg
	node, service, err := splitAddr(name, addr)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &core.OpError{Op: name, Object: addr, Err: ended(context.Cause(ctx))}
	}
	info, err := c.system.choose(c, c.query(node, service, true))
	if err != nil {
		return nil, err
	}
	b, err := openBase(c.system, info)
	if err != nil {
		return nil, err
	}
	l := &Listener{base: b, cfg: c}
	if err = l.open(info); err == nil {
		l.reg, err = c.register(ctx, info, l.addr)
	}
	if err != nil {
		l.Close()
		return nil, l.opError(name, core.Addr{}, err)
	}
	return l, nil
}

func (l *Listener) open(info *core.Info) error {
	pep, err := l.base.fabric.OpenPassiveEndpoint(info)
	if err != nil {
		return err
	}
	l.pep = pep
	eq, err := l.base.fabric.OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec})
	if err != nil {
		return err
	}
	l.eq = eq
	if err = l.pep.BindEQ(l.eq, 0); err != nil {
		return err
	}
	if err = l.pep.Listen(); err != nil {
		return err
	}
	l.addr, err = l.pep.Name()
	return err
}

func (l *Listener) opError(name string, peer core.Addr, err error) error {
	var have *core.OpError
	if errors.As(err, &have) {
		return err
	}
	hint := hintFor(err)
	if err == core.ErrShutdown {
		hint = "the listener is closed"
	}
	return &core.OpError{Op: name, Provider: l.base.info.Fabric.ProvName, Object: l.addr.String(), Peer: peer.String(), Err: err, Hint: hint}
}

// Addr returns the address at which the listener listens, for Dial.
func (l *Listener) Addr() core.Addr { return l.addr }

// Accept waits for a connection request and accepts it (fi_accept(3)); its answer is Config.PrivateData. If a dialler
// gives up meanwhile, Accept waits for the next one. Any number of goroutines may call it.
func (l *Listener) Accept(ctx context.Context) (*Endpoint, error) {
	for {
		r, err := l.Next(ctx)
		if err != nil {
			return nil, err
		}
		e, err := r.Accept(ctx, l.cfg.PrivateData)
		if err == nil || ctx.Err() != nil || l.isClosed() || ownFault(err) {
			return e, err
		}
	}
}

// ownFault reports whether Accept has failed for a reason on this side.
func ownFault(err error) bool {
	return slices.ContainsFunc([]core.Errno{core.ErrMFile, core.ErrNoMem, core.ErrNoBufs, core.ErrInval, core.ErrNoSys, core.ErrOpNotSupp, core.ErrBadF},
		func(e core.Errno) bool { return errors.Is(err, e) })
}

// Next waits for a connection request. The caller must answer it with Accept or Reject.
func (l *Listener) Next(ctx context.Context) (*Request, error) {
	const name = "fi_eq_sread"
	if !l.enter() {
		return nil, l.opError(name, core.Addr{}, core.ErrShutdown)
	}
	defer l.calls.Done()
	var ev core.EQEvent
	for {
		err := l.eq.SRead(ctx, &ev, 0)
		switch {
		case err == nil && ev.Type == core.EventConnReq && ev.Info != nil:
			return &Request{l: l, info: ev.Info, private: ev.CMData}, nil
		case err == nil:
		case err == core.ErrAvail:
			var bad core.EQErrEntry
			if l.eq.ReadErr(&bad, 0) == nil && bad.Err != 0 {
				return nil, l.opError("fi_listen", core.Addr{}, bad.Err)
			}
		case l.isClosed():
			return nil, l.opError(name, core.Addr{}, core.ErrShutdown)
		case ctx.Err() != nil:
			return nil, l.opError(name, core.Addr{}, ended(context.Cause(ctx)))
		case !errors.Is(err, core.ErrAgain):
			return nil, l.opError(name, core.Addr{}, err)
		}
	}
}

// Requests yields connection requests until the listener is closed, ctx ends, or waiting fails. The last pair then
// has the error.
func (l *Listener) Requests(ctx context.Context) iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		for {
			r, err := l.Next(ctx)
			if err != nil && l.isClosed() {
				return
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (l *Listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.calls.Add(1)
	return true
}

func (l *Listener) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close stops listening (fi_close(3)). Accepted endpoints stay open. Calls in progress return core.ErrShutdown.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		if l.reg != nil {
			l.reg.Close()
		}
		var objs []core.Object
		if l.pep != nil {
			objs = append(objs, l.pep)
		}
		if l.eq != nil {
			objs = append(objs, l.eq)
		}
		err := CloseAll(objs...)
		l.calls.Wait()
		l.err = errors.Join(err, l.base.release())
	})
	return l.err
}
