package tcp

import (
	"sync"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

// fabric is an open fabric. Its passive endpoints share one progress engine, which the first of them creates.
type fabric struct {
	endpoint.Fabric
	p      *Provider
	faults stream.Impairer // nil without a layer fault

	mu   sync.Mutex
	prog *progress.Engine
	bufs *buffers
	pool engine.Pool
	cfg  *engine.Config
}

func newFabric(p *Provider, info *core.Info) *fabric {
	f := &fabric{p: p}
	f.cfg = f.config(1)
	f.InitFabric(&names, info)
	return f
}

// carriers returns the abilities of new carriers.
func (f *fabric) carriers() abilities {
	if f.faults != nil {
		return impairedAbilities
	}
	return tcpAbilities
}

// config returns the engine's configuration from the settings, the size of an endpoint's transmit queue and the
// carriers' abilities.
func (f *fabric) config(txSize int) *engine.Config {
	c := f.p.s.config(txSize)
	if !f.carriers().singleCopy {
		c.CMA = nil
	}
	return c
}

// progress returns the engine of the fabric's listeners, a new one if there is none.
func (f *fabric) progress() (*progress.Engine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.prog == nil {
		e, err := progress.New(true)
		if err != nil {
			return nil, err
		}
		f.prog, f.bufs = e, newBuffers(4096)
		f.bufs.faults, f.bufs.patience = f.faults, f.p.s.peerTimeout
	}
	return f.prog, nil
}

// Close fails with ErrBusy while domains, queues, wait sets or passive endpoints are open (fi_close(3)).
func (f *fabric) Close() error {
	if err := f.Fabric.Close(); err != nil {
		return err
	}
	f.mu.Lock()
	e := f.prog
	f.prog = nil
	f.mu.Unlock()
	if e != nil {
		return e.Close()
	}
	return nil
}

func (f *fabric) OpenPassiveEndpoint(info *core.Info, self *core.PassiveEndpoint) (core.PassiveDriver, error) {
	p, err := openPassive(f, info, self)
	if err != nil {
		return nil, err
	}
	return p, nil
}
