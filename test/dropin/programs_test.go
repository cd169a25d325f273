package dropin

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"gofabric/test/need"
)

// This file runs the project's own C programs. There is one for each family of calls.

// stack is a stack that the programs run over.
type stack struct{ provider, kind string }

func (s stack) String() string { return s.provider + " " + s.kind }

var stacks = []stack{{"tcp", "msg"}, {"tcp", "rdm"}, {"tcp;ofi_rxm", "rdm"}, {"udp", "dgram"}, {"udp;ofi_rxd", "rdm"}}

// programs are the programs, with the endpoint types that support their calls, or none for all types.
var programs = []struct {
	name  string
	kinds []string
}{
	{"getinfo", nil},
	{"tclass", nil},
	{"control", []string{"msg", "rdm"}},
	{"connect", []string{"msg"}},
	{"msg", nil},
	{"late", nil},
	{"goodbye", []string{"msg", "rdm"}},
	{"tagged", []string{"rdm"}},
	{"null", []string{"rdm"}},
	{"rma", []string{"msg", "rdm"}},
	{"atomic", []string{"msg", "rdm"}},
	{"counter", nil},
	{"cq", nil},
	{"threads", []string{"msg", "rdm"}},
	{"pollers", []string{"rdm"}},
	{"pollbackoff", []string{"dgram"}},
	{"pollset", nil},
	{"av", []string{"rdm", "dgram"}},
	{"alias", nil},
	{"link", nil},
	{"multirecv", []string{"rdm"}},
	{"scalable", []string{"rdm"}},
	{"shared", []string{"rdm"}},
	{"trigger", []string{"rdm"}},
	{"collective", []string{"rdm"}},
}

func TestPrograms(t *testing.T) { runAll(t, nil) }

// TestSanitized runs the programs with the address sanitizer. It sees what the library does to their memory through
// the C library, what is freed twice, and what leaks. (Valgrind does not support Go's stacks.)
func TestSanitized(t *testing.T) {
	need.Asked(t, "this takes a minute")
	if err := exec.Command("gcc", "-fsanitize=address", "-x", "c", "-o", os.DevNull,
		"testdata/empty.c").Run(); err != nil {
		need.Missing(t, "there is no address sanitizer: %v", err)
	}
	runAll(t, []string{"-fsanitize=address"})
}

// keep are programs that leave an object open at their end, or keep texts that only Go refers to.
var keep = []string{"shared", "getinfo", "control"}

func runAll(t *testing.T, flags []string) {
	for _, p := range programs {
		for _, s := range stacks {
			if p.kinds != nil && !slices.Contains(p.kinds, s.kind) {
				continue
			}
			t.Run(p.name+" "+s.String(), func(t *testing.T) {
				t.Parallel()
				env := onOurs(t)
				if slices.Contains(keep, p.name) {
					env = append(env, "ASAN_OPTIONS=detect_leaks=0")
				}
				finish(t, env, compile(t, p.name, flags...), s.provider, s.kind)
			})
		}
	}
}
