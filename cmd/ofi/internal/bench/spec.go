package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gofabric/core"
)

// This file specifies tests and stacks.

// Kind is a measuring procedure.
type Kind string

const (
	Latency Kind = "latency" // ping-pong; half a round trip
	Rate    Kind = "rate"    // windows of sends, each answered by a small message
	Sliding Kind = "sliding" // at most a window of sends without completion
	Write   Kind = "write"   // windows of remote writes
	Read    Kind = "read"    // windows of remote reads
	// Atomic measures a remote fetch-add, while the other side only makes progress. AllReduce measures a sum of
	// doubles over a group of processes.
	Atomic    Kind = "atomic"
	AllReduce Kind = "allreduce"
)

// remote reports whether a test reads or writes the other side's memory.
func (k Kind) remote() bool { return k == Write || k == Read }

// Test is one measurement on a stack.
type Test struct {
	Kind   Kind `json:"kind"`
	Tagged bool `json:"tagged,omitempty"`
	Size   int  `json:"size"`             // bytes of a message
	Window int  `json:"window,omitempty"` // operations before a wait for completions
	OneWay bool `json:"one_way,omitempty"`

	Members int `json:"members,omitempty"` // of an AllReduce
}

// needs has the requirements of a test on a session.
type needs struct {
	caps    core.Caps
	members int // processes
}

func (t Test) needs() needs {
	switch t.Kind {
	case Atomic:
		return needs{core.CapAtomic, 2}
	case AllReduce:
		return needs{core.CapCollective, t.Members}
	}
	return needs{members: 2}
}

// Name returns the test's name in the table.
func (t Test) Name() string {
	name := string(t.Kind)
	if t.Kind == Rate && t.Size >= bulkSize {
		name = "bandwidth"
	}
	if t.Tagged {
		name = "tagged " + name
	}
	if t.Kind == AllReduce {
		name += fmt.Sprint(" ", t.Members)
	}
	return name
}

// bulkSize is the message size, in bytes, from which results are bytes per second instead of messages per second.
const bulkSize = 4096

// Unit returns the unit of the test's Value: us, Mmsg/s or MB/s (10^6 bytes).
func (t Test) Unit() string {
	switch {
	case t.LowerIsBetter():
		return "us"
	case t.Size >= bulkSize || t.Kind == Write || t.Kind == Read:
		return "MB/s"
	}
	return "Mmsg/s"
}

// value converts microseconds per message into the test's unit.
func (t Test) value(usec float64) float64 {
	switch {
	case usec <= 0:
		return 0
	case t.Unit() == "us":
		return usec
	case t.Unit() == "MB/s":
		return float64(t.Size) / usec
	}
	return 1 / usec
}

// LowerIsBetter reports whether a lower value is better.
func (t Test) LowerIsBetter() bool {
	return t.Kind == Latency || t.Kind == Atomic || t.Kind == AllReduce
}

// Stack is a provider and a kind of endpoint.
type Stack struct {
	Provider string      `json:"provider"`
	Type     core.EPType `json:"-"`
}

// String returns the stack as --stack takes it: tcp/msg.
func (s Stack) String() string { return s.Provider + "/" + s.typeName() }

func (s Stack) typeName() string {
	switch s.Type {
	case core.EPTypeMsg:
		return "msg"
	case core.EPTypeDgram:
		return "dgram"
	}
	return "rdm"
}

// ParseStack reads tcp/msg, udp/dgram, or udp;ofi_rxd, which is of type rdm.
func ParseStack(text string) (Stack, error) {
	name, kind, found := strings.Cut(strings.TrimSpace(text), "/")
	s := Stack{Provider: name, Type: core.EPTypeRDM}
	switch {
	case name == "":
		return s, fmt.Errorf("stack %q: give provider/type, such as tcp/rdm", text)
	case !found || strings.EqualFold(kind, "rdm"):
	case strings.EqualFold(kind, "msg"):
		s.Type = core.EPTypeMsg
	case strings.EqualFold(kind, "dgram"):
		s.Type = core.EPTypeDgram
	default:
		return s, fmt.Errorf("stack %q: the type is msg, rdm or dgram", text)
	}
	return s, nil
}

// Stacks lists the available reliable stacks, each once, in GetInfo's order.
func Stacks(getInfo GetInfo) ([]Stack, error) {
	infos, _, err := getInfo(core.Query{})
	if err != nil {
		return nil, err
	}
	var all []Stack
	for _, i := range infos {
		s := Stack{i.Fabric.ProvName, i.EP.Type}
		if (s.Type == core.EPTypeMsg || s.Type == core.EPTypeRDM) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// Plan selects the tests on each stack.
type Plan struct {
	Tests  []string // names of PlanTests; empty: those of DefaultTests
	Small  int      // bytes of latency and rate messages; 0: 64
	Bulk   []int    // bytes of bandwidth, read and write messages; nil: 64 KiB and 1 MiB
	Window int      // 0: 64
	OneWay bool     // remote reads and writes by one side only

	Members []int // of allreduce; nil: 2, 4 and 8
	Sums    []int // bytes of allreduce; nil: 8 bytes to 1 MiB
}

// DefaultTests are the tests if none are named. PlanTests are the valid names in Plan.Tests.
var (
	DefaultTests = []string{"latency", "rate", "sliding", "bandwidth", "write", "read", "tagged"}
	PlanTests    = append(slices.Clone(DefaultTests), string(Atomic), string(AllReduce))
)

// windowMemory bounds the buffers of a window, in bytes. Large messages have smaller windows if necessary.
const windowMemory = 64 << 20

// For returns the tests for a stack.
func (p Plan) For(s Stack) []Test {
	small, window, bulk := p.Small, p.Window, p.Bulk
	small = cmp.Or(small, 64)
	window = cmp.Or(window, 64)
	if bulk == nil {
		bulk = []int{64 << 10, 1 << 20}
	}
	tests := p.Tests
	if len(tests) == 0 {
		tests = DefaultTests
	}
	want := func(name string) bool { return slices.Contains(tests, name) }
	var all []Test
	if want("latency") {
		all = append(all, Test{Kind: Latency, Size: small})
	}
	if want("rate") {
		all = append(all, Test{Kind: Rate, Size: small, Window: window})
	}
	if s.Type == core.EPTypeDgram {
		return all // the other tests overflow a receiver's socket, or are not for datagrams
	}
	if want("sliding") {
		all = append(all, Test{Kind: Sliding, Size: small, Window: window})
	}
	if want("tagged") && s.Type != core.EPTypeMsg {
		all = append(all, Test{Kind: Latency, Tagged: true, Size: small}, Test{Kind: Rate, Tagged: true, Size: small, Window: window})
	}
	for _, n := range bulk {
		window := max(1, min(window, windowMemory/n))
		if want("bandwidth") {
			all = append(all, Test{Kind: Rate, Size: n, Window: window})
		}
		if want("write") {
			all = append(all, Test{Kind: Write, Size: n, Window: window, OneWay: p.OneWay})
		}
		if want("read") {
			all = append(all, Test{Kind: Read, Size: n, Window: window, OneWay: p.OneWay})
		}
	}
	if want("atomic") {
		all = append(all, Test{Kind: Atomic, Size: 8})
	}
	if want("allreduce") && s.Type == core.EPTypeRDM {
		all = append(all, p.sums()...)
	}
	return all
}

// sums returns the tests of collective operations.
func (p Plan) sums() (all []Test) {
	members, sizes := p.Members, p.Sums
	if members == nil {
		members = []int{2, 4, 8}
	}
	if sizes == nil {
		sizes = []int{8, 1 << 10, 16 << 10, 64 << 10, 1 << 20}
	}
	for _, m := range members {
		for _, n := range sizes {
			all = append(all, Test{Kind: AllReduce, Size: n, Members: m})
		}
	}
	return all
}
