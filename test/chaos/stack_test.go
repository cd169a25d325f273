package chaos

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// bound is how long an operation may take: the endpoint may give up a silent peer, and then its next life, too.
func (c carrier) bound() time.Duration { return bound + 2*max(c.bears-silence, 0) }

// stack is a stack to test.
type stack struct {
	name     string
	provider string
	msg      bool // connected endpoints instead of reliable datagrams
}

var stacks = []stack{
	{"tcp/msg", "tcp", true},
	{"tcp/rdm", "tcp", false},
	{"tcp;ofi_rxm", "tcp;ofi_rxm", false},
	{"udp;ofi_rxd", "udp;ofi_rxd", false},
}

// carrier is how the processes of a stack are connected.
type carrier struct {
	name  string
	env   []string
	hosts bool          // in two hosts with a veth pair between them, instead of in one
	fault bool          // over the fault layer
	bears time.Duration // how long endpoints wait for silent peers, if not silence
}

var (
	overMemory  = carrier{name: "memory"}
	overSockets = carrier{name: "sockets",
		env: []string{"FI_TCP_LOCAL_SOCKETS=0", "FI_TCP_LOCAL_MEMORY=0", "FI_TCP_SINGLE_COPY_SIZE=-1",
			"FI_OFI_RXM_SINGLE_COPY_SIZE=-1",
			"FI_UDP_LOCAL_MEMORY=0", "FI_OFI_RXD_SINGLE_COPY_SIZE=-1"}}
	overVeth  = carrier{name: "veth", hosts: true}
	overXDP   = carrier{name: "xdp", hosts: true, env: []string{"FI_UDP_LINK=xdp"}}
	overFault = carrier{name: "fault", fault: true,
		env: []string{"FI_FAULT_RESET=40000000", "FI_FAULT_CUT=20%", "FI_FAULT_REFUSE=5%",
			"FI_FAULT_PARTITION=9s-10s,16s-20s"}}
	// Endpoints must not give up a peer that loses as much as this and is unreachable for a second.
	overLoss = carrier{name: "fault", fault: true, bears: 8 * time.Second,
		env: []string{"FI_OFI_RXD_PEER_TIMEOUT=8000", "FI_OFI_RXD_HANDSHAKE_TIMEOUT=8000", "FI_FAULT_LOSS=30%",
			"FI_FAULT_DUP=5%", "FI_FAULT_REORDER=10%", "FI_FAULT_CORRUPT=1%", "FI_FAULT_PARTITION=9s-10s"}}
)

// carriers returns the carriers of a stack.
func (s stack) carriers() []carrier {
	if strings.HasPrefix(s.provider, "udp") {
		return []carrier{overMemory, overSockets, overVeth, overXDP, overLoss}
	}
	return []carrier{overMemory, overSockets, overVeth, overFault}
}

// way is a stack and its carrier.
type way struct {
	stack
	carrier
	brief bool // all events are short
}

func (w way) String() string { return w.stack.name + "@" + w.carrier.name }

// prov returns the provider string.
func (w way) prov() string {
	if !w.carrier.fault {
		return w.provider
	}
	core, rest, layered := strings.Cut(w.provider, ";")
	if layered {
		return core + ";fault;" + rest
	}
	return core + ";fault"
}

// weights returns how often each kind of event happens, relative to the others.
func (w way) weights() [eventKinds]int {
	n := [eventKinds]int{evKill: 26, evExit: 6, evClose: 16, evStop: 12, evHalfOpen: 6,
		evExhaust: 4, evMemory: 3, evClient: 24}
	if w.brief {
		n = [eventKinds]int{evKill: 3, evClose: 3, evStop: 1, evClient: 3}
	}
	if w.msg {
		n[evShutdown] = 12
	}
	if w.hosts {
		n[evLink] = 8
	}
	for k := range n {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), eventKind(k).String()) {
			n[k] = 0
		}
	}
	return n
}

// Flags that help to find the cause of a failure.
var (
	kept = flag.String("journals", "",
		"an empty folder for the journals of a run of one stack over one carrier; they are kept")
	first = flag.Bool("first", false, "end a run with the first fault")
	only  = flag.String("only", "", "kinds of events in the schedule: a comma-separated list, such as kill,client")
)

// chosen returns the ways to test: all, or those of GOFABRIC_CHAOS_STACK, such as "tcp/msg", "tcp/rdm@veth", or
// another provider string.
func chosen() (all []way, err error) {
	text := os.Getenv("GOFABRIC_CHAOS_STACK")
	name, by, only := strings.Cut(text, "@")
	if name == "tcp" {
		name = "tcp/rdm"
	}
	for _, s := range stacks {
		for _, c := range s.carriers() {
			if (text == "" || name == s.name) && (!only || by == c.name) {
				all = append(all, way{stack: s, carrier: c})
			}
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	s := stack{name: name, provider: name}
	if p, ok := strings.CutSuffix(name, "/msg"); ok {
		s.provider, s.msg = p, true
	}
	for _, c := range append(s.carriers(), overMemory) {
		if !only && c.name == overMemory.name || only && by == c.name {
			return []way{{stack: s, carrier: c}}, nil
		}
	}
	return nil, fmt.Errorf("GOFABRIC_CHAOS_STACK=%s: there is no such carrier", text)
}

// datagrams reports whether the stack transfers datagrams.
func (s stack) datagrams() bool { return strings.HasPrefix(s.provider, "udp") }
