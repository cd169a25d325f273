package boot

import (
	"strings"
	"testing"

	"gofabric/test/need"
)

// TestHydra starts four processes with MPICH's mpiexec.hydra. They get rank and size, insert all addresses and
// exchange messages.
func TestHydra(t *testing.T) {
	t.Parallel()
	need.Programs(t, "mpich", "mpiexec.hydra")
	for _, c := range []struct {
		name, provider, source string
		args                   []string // of mpiexec.hydra
		more                   []string // of the program
	}{
		{name: "tcp", provider: "tcp", source: "pmi1"},
		{name: "rxd", provider: "udp;ofi_rxd", source: "pmi1"},
		{name: "rxm", provider: "tcp;ofi_rxm", source: "pmi1"},
		{name: "port", provider: "tcp", source: "pmi1", args: []string{"-pmi-port"}},
		// hydra starts two proxies, which exchange the values.
		{name: "two hosts", provider: "tcp", source: "pmi1",
			args: []string{"-launcher", "fork", "-hosts", "localhost,127.0.0.1", "-ppn", "2"}},
		{name: "two hosts, version 2", provider: "tcp", source: "pmi2",
			args: []string{"-launcher", "fork", "-hosts", "localhost,127.0.0.1", "-ppn", "2"},
			more: []string{"-from", "pmi2"}},
		{name: "version 2", provider: "tcp", source: "pmi2", more: []string{"-from", "pmi2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(append([]string{"-n", "4"}, c.args...), rankPath(t), "-provider", c.provider)
			run(t, clean(), "mpiexec.hydra", append(args, c.more...)...).wantAll(t, 4, c.source, c.provider)
		})
	}
}

// TestHydraDies kills a process. The job ends, and no process waits for it for ever.
func TestHydraDies(t *testing.T) {
	t.Parallel()
	need.Programs(t, "mpich", "mpiexec.hydra")
	r := run(t, clean(), "mpiexec.hydra", "-n", "4", rankPath(t), "-die", "2")
	if r.code == 0 || strings.Contains(r.out, ": ok") {
		t.Errorf("exit status %d:\n%s", r.code, r.out)
	}
}

// TestHydraOne starts a job of one process.
func TestHydraOne(t *testing.T) {
	t.Parallel()
	need.Programs(t, "mpich", "mpiexec.hydra")
	run(t, clean(), "mpiexec.hydra", "-n", "1", rankPath(t)).wantAll(t, 1, "pmi1", "tcp")
}
