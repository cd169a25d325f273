package gofabric

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
)

// This file is the composition root. It combines the providers that the program imports, reads the environment and
// the configuration file, and accesses the machine.

// configFile is the path of libfabric.conf in native libfabric's packages.
const configFile = "/etc/libfabric.conf"

// maxConfig is the largest part of the file that is read, in bytes.
const maxConfig = 1 << 20

// process has the providers, the parameters and the machine of this process.
type process struct {
	registry *core.Registry
	params   *core.Params
	host     core.Host
}

// thisProcess is made at first use, as native libfabric initializes itself. Later changes of the environment have no
// effect.
var thisProcess = sync.OnceValues(func() (*process, error) { return newProcess(os.LookupEnv, readConfig()) })

// packages has the packages of this module's providers and layers by name. A program has those that it imports.
var packages = map[string]string{
	"udp": "gofabric/provider/udp", "tcp": "gofabric/provider/tcp",
	"ofi_rxm": "gofabric/util/rxm", "ofi_rxd": "gofabric/util/rxd", "fault": "gofabric/util/fault",
}

// everything is the package that imports all others.
const everything = "gofabric/all"

// importing returns text that says which import a program lacks.
func importing(path string) string {
	return fmt.Sprintf("import _ %q, or _ %q for all providers and layers", path, everything)
}

// providers makes the providers that the program imports, in order of preference.
func providers(params *core.Params, machine core.Host) ([]core.Provider, error) {
	var list []core.Provider
	for _, r := range core.Registered() {
		p, err := r.New(params, machine)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil, &core.OpError{Op: "fi_getinfo", Err: core.ErrNoData,
			Hint: fmt.Sprintf("the program has no provider: import _ %q for all providers, or one of them, such as _ %q", everything, packages["tcp"])}
	}
	return list, nil
}

// absent returns, for each provider that the program does not import, text that says how to import it.
func absent() map[string]string {
	how := map[string]string{}
	for name, path := range packages {
		how[name] = importing(path)
	}
	for _, r := range core.Registered() {
		delete(how, strings.ToLower(r.Name))
	}
	return how
}

// hook returns the hook above all stacks: strict mode, if FI_STRICT selects it.
func hook(params *core.Params) (core.Hook, error) {
	if make := core.RegisteredHook(); make != nil {
		return make(params)
	}
	switch name, _ := params.Lookup("", "strict"); strings.ToLower(strings.TrimSpace(name)) {
	case "", "0", "off":
		return nil, nil
	}
	return nil, &core.OpError{Op: "fi_getinfo", Object: "FI_STRICT", Err: core.ErrNoSys, Hint: "strict mode is not part of this program: " + importing("gofabric/util/strict")}
}

// newProcess combines providers, parameters and the machine.
func newProcess(lookup func(string) (string, bool), config string) (*process, error) {
	params, err := core.NewParams(lookup, config)
	if err != nil {
		return nil, err
	}
	ms, err := params.Int("", "resolve_timeout")
	if err != nil {
		return nil, err
	}
	machine := &host.Host{Timeout: time.Duration(ms) * time.Millisecond, Schemes: map[string]host.Lookup{host.DirectoryScheme: host.LookupName}}
	list, err := providers(params, machine)
	if err != nil {
		return nil, err
	}
	above, err := hook(params)
	if err != nil {
		return nil, err
	}
	reg := core.NewRegistry(list...)
	reg.SetHook(above)
	reg.SetAbsent(absent())
	params.Define(reg.Params()...)
	return &process{registry: reg, params: params, host: machine}, nil
}

// readConfig returns the text of the configuration file, or "" if there is none.
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

// GetInfo returns the ways to communicate that match q, from all providers that the program imports, and the reasons
// why others do not match (fi_getinfo(3)); see core.GetInfo.
func GetInfo(q core.Query) ([]*core.Info, []core.Refusal, error) {
	p, err := thisProcess()
	if err != nil {
		return nil, nil, err
	}
	return core.GetInfo(p.registry, p.host, p.params, q)
}

// Explain checks which of the faster ways of AF_XDP (FI_UDP_LINK) work for the Infos in found, which are from
// GetInfo. It returns those that are refused, with the reasons, and how the others will be used. It leaves nothing
// open.
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
