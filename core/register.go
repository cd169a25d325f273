package core

import (
	"cmp"
	"fmt"
	"slices"
)

// Registration is how a provider package makes itself known to the program that imports it, as drivers do with database/sql. The root package opens what is registered:
//
//	import _ "gofabric/provider/tcp"
type Registration struct {
	// Name is the provider's name, such as "tcp".
	Name string
	// Rank orders the results of GetInfo, the lowest first; native's order is layers (RankLayer), then udp, then tcp. Those of the same rank are in the order of their names.
	Rank int
	// New makes the provider for a process, with the process' parameters, and with what resolves names and knows the machine's interfaces.
	New func(params *Params, host Host) (Provider, error)
}

// Ranks of this module's providers. A provider of others that says nothing comes after them.
const (
	RankReliableLayer = -50 + 10*iota // ofi_rxm
	RankDatagramLayer                 // ofi_rxd
	RankTestLayer                     // fault
	RankUDP
	RankTCP
)

var registered struct {
	providers []Registration
	hook      func(*Params) (Hook, error)
}

// Register adds a provider to those that the root package opens. It is for init functions, and it panics if the name is taken. Registries that are made with NewRegistry do
// not ask for it.
func Register(r Registration) {
	if r.New == nil || slices.ContainsFunc(registered.providers, func(o Registration) bool { return sameName(o.Name, r.Name) }) {
		panic(fmt.Sprintf("core.Register: provider %q is registered twice, or has no New", r.Name))
	}
	registered.providers = append(registered.providers, r)
	slices.SortFunc(registered.providers, func(a, b Registration) int { return cmp.Or(a.Rank-b.Rank, cmp.Compare(a.Name, b.Name)) })
}

// Registered returns what was registered, in the order of preference.
func Registered() []Registration { return slices.Clone(registered.providers) }

// RegisterHook sets what makes the hook above all stacks of the root package (strict mode): nil of it is no hook. It is for init functions; there is one.
func RegisterHook(make func(*Params) (Hook, error)) { registered.hook = make }

// RegisteredHook returns what RegisterHook was given, nil if the program has no such hook.
func RegisteredHook() func(*Params) (Hook, error) { return registered.hook }
