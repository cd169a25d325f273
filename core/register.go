package core

import (
	"cmp"
	"fmt"
	"slices"
)

// Registration describes a provider package to the program that imports it, as drivers of database/sql do. The root
// package opens the registered providers:
//
//	import _ "gofabric/provider/tcp"
type Registration struct {
	// Name is the provider's name, such as "tcp".
	Name string
	// Rank orders the results of GetInfo, the lowest first. Native's order is layers, then udp, then tcp. Providers
	// of the same rank are in the order of their names.
	Rank int
	// New returns the provider for a process. params are the process' parameters. host resolves names and lists the
	// machine's interfaces.
	New func(params *Params, host Host) (Provider, error)
}

// The ranks of this module's providers. A third-party provider without a rank has 0, which is behind them.
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

// Register adds a provider to those that the root package opens. Call it in init functions. It panics if the name
// is taken. Registries of NewRegistry do not use it.
func Register(r Registration) {
	if r.New == nil || slices.ContainsFunc(registered.providers, func(o Registration) bool { return sameName(o.Name, r.Name) }) {
		panic(fmt.Sprintf("core.Register: provider %q is registered twice, or has no New", r.Name))
	}
	registered.providers = append(registered.providers, r)
	slices.SortFunc(registered.providers, func(a, b Registration) int { return cmp.Or(a.Rank-b.Rank, cmp.Compare(a.Name, b.Name)) })
}

// Registered returns the registrations in the order of preference.
func Registered() []Registration { return slices.Clone(registered.providers) }

// RegisterHook sets the function that returns the hook above all stacks of the root package (strict mode). A nil
// hook means none. Call it in an init function; a program has one hook.
func RegisterHook(make func(*Params) (Hook, error)) { registered.hook = make }

// RegisteredHook returns the argument of RegisterHook, nil if the program has no hook.
func RegisteredHook() func(*Params) (Hook, error) { return registered.hook }
