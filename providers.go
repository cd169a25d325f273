package gofabric

import (
	"io"
	"os"
	"sync"
	"time"

	"gofabric/core"
	"gofabric/internal/fabricd/names"
	"gofabric/internal/host"
	"gofabric/provider/tcp"
	"gofabric/provider/udp"
	"gofabric/util/fault"
	"gofabric/util/rxd"
	"gofabric/util/rxm"
	"gofabric/util/strict"
)

// The composition root: the one place that names providers together, reads the environment and the configuration file, and touches the machine.

// configFile is where native libfabric's packages put libfabric.conf.
const configFile = "/etc/libfabric.conf"

// maxConfig bounds what is read of it.
const maxConfig = 1 << 20

// process is what a process has of everything: providers, parameters, the machine.
type process struct {
	registry *core.Registry
	params   *core.Params
	host     core.Host
}

// thisProcess is made at first use, as native libfabric initializes itself; later changes of the environment go unnoticed.
var thisProcess = sync.OnceValues(func() (*process, error) { return newProcess(os.LookupEnv, readConfig()) })

// providers makes the providers of this module, most preferred first.
func providers(params *core.Params, machine core.Host) ([]core.Provider, error) {
	u, err := udp.New(params, machine)
	if err != nil {
		return nil, err
	}
	t, err := tcp.New(params, machine)
	if err != nil {
		return nil, err
	}
	m, err := rxm.New(params, machine)
	if err != nil {
		return nil, err
	}
	r, err := rxd.New(params, machine)
	if err != nil {
		return nil, err
	}
	f, err := fault.New(params, machine)
	if err != nil {
		return nil, err
	}
	return []core.Provider{m, r, f, u, t}, nil
}

// newProcess composes providers, parameters and the machine.
func newProcess(lookup func(string) (string, bool), config string) (*process, error) {
	params, err := core.NewParams(lookup, config)
	if err != nil {
		return nil, err
	}
	ms, err := params.Int("", "resolve_timeout")
	if err != nil {
		return nil, err
	}
	machine := &host.Host{Timeout: time.Duration(ms) * time.Millisecond, Schemes: map[string]host.Lookup{names.Scheme: names.Lookup}}
	list, err := providers(params, machine)
	if err != nil {
		return nil, err
	}
	hook, err := strict.New(params, nil)
	if err != nil {
		return nil, err
	}
	reg := core.NewRegistry(list...)
	reg.SetHook(hook)
	params.Define(reg.Params()...)
	return &process{registry: reg, params: params, host: machine}, nil
}

// readConfig returns the configuration file's text; "" if there is none.
func readConfig() string {
	f, err := os.Open(configFile)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return ""
	}
	return string(text)
}

// GetInfo asks all providers of this module for ways to communicate that match q, and says why others do not
// (fi_getinfo(3)); see core.GetInfo.
func GetInfo(q core.Query) ([]*core.Info, []core.Refusal, error) {
	p, err := thisProcess()
	if err != nil {
		return nil, nil, err
	}
	return core.GetInfo(p.registry, p.host, p.params, q)
}

// Explain tries the faster ways that AF_XDP (FI_UDP_LINK) offers to the Infos in found, which GetInfo returned. It
// says which are refused and why, and how those that work will be used. It leaves nothing open.
func Explain(found []*core.Info) (refused []core.Refusal, taken []core.Remark) {
	p, err := thisProcess()
	if err != nil {
		return nil, nil
	}
	for _, x := range p.registry.Providers() {
		if e, ok := x.(core.Explainer); ok {
			r, t := e.Explain(found)
			refused, taken = append(refused, r...), append(taken, t...)
		}
	}
	return refused, taken
}

// OpenFabric opens the fabric of an Info that GetInfo returned (fi_fabric(3)).
func OpenFabric(info *core.Info) (*core.Fabric, error) {
	p, err := thisProcess()
	if err != nil {
		return nil, err
	}
	return core.OpenFabric(p.registry, info)
}

// Params returns all FI_* parameters of this process with their values (fi_getparams(3)).
func Params() ([]core.ParamValue, error) {
	p, err := thisProcess()
	if err != nil {
		return nil, err
	}
	return p.params.All(), nil
}
