//go:build linux

package telemetry

import "gofabric/core"

// stack is what a pair of processes uses.
type stack struct {
	name     string // the name of its processes
	provider string
	kind     core.EPType
}

var stacks = []stack{
	{"plain", "udp", core.EPTypeDgram},
	{"connected", "tcp", core.EPTypeMsg},
	{"tcp", "tcp", core.EPTypeRDM},
	{"rxm", "tcp;ofi_rxm", core.EPTypeRDM},
	{"rxd", "udp;ofi_rxd", core.EPTypeRDM},
}

func stackOf(name string) stack {
	for _, s := range stacks {
		if s.name == name {
			return s
		}
	}
	panic("no stack " + name)
}

func (s stack) connected() bool { return s.kind == core.EPTypeMsg }
func (s stack) reliable() bool  { return s.kind != core.EPTypeDgram }

// unconnected returns the provider's type of endpoint that needs no connection.
func (s stack) unconnected() core.EPType {
	if s.connected() {
		return core.EPTypeRDM
	}
	return s.kind
}

func (s stack) caps() core.Caps {
	if s.reliable() {
		return core.CapMsg | core.CapRMA | core.CapAtomic
	}
	return core.CapMsg
}

// size returns the size of messages in a flood.
func (s stack) size() int {
	if s.reliable() {
		return 1 << 15
	}
	return 1000
}
