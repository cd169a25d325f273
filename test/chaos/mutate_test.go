package chaos

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gofabric/test/need"
)

// Orderings of the code that are broken on purpose, to see that a run notices.

type mutation struct {
	name     string
	file     string // of this module
	from, to string // text that the file has once, and what becomes of it
	way      string // GOFABRIC_CHAOS_STACK
	only     string // kinds of events
}

var mutations = []mutation{
	{"seal", "internal/xnet/engine/seal.go", "\t\tt.seals.Break(i)\n", "", // a buffer goes back under a whole seal
		"tcp/rdm@memory", "close,stop,courier"},
	{"drain", "internal/endpoint/linger.go", "if d.Drained(true) {", "if d.Drained(true) || !d.Drained(true) {", // a close waits for nothing
		"udp;ofi_rxd@fault", "close,stop,courier"},
	{"ack", "internal/xnet/engine/arrivals.go", "\tl.op, l.n, l.hasAck = op, int(op.niov), op.ack\n", // what has begun to come is acknowledged
		"\tl.op, l.n, l.hasAck = op, int(op.niov), false\n\tif op.ack {\n\t\tc.acknowledge()\n\t}\n",
		"udp;ofi_rxd@sockets", "kill,close,courier"},
}

// mutationRounds is how often a run with a mutation may see nothing.
const mutationRounds = 3

// TestMutations breaks the three orderings that most depends on, one after the other: a buffer goes back after its seal is broken, a close after what was sent has
// arrived, an acknowledgement after what it acknowledges. Each time runs must fail, and without the mutation succeed.
func TestMutations(t *testing.T) {
	need.Asked(t, "it builds this test three times and runs it for a minute or two each")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			bin := m.build(t, root)
			if out, failed := m.run(t, os.Args[0], "1"); failed {
				t.Fatalf("without the mutation:\n%s", out)
			}
			began := time.Now()
			for _, seed := range []string{"1", "2", "3"}[:mutationRounds] {
				if out, failed := m.run(t, bin, seed); failed {
					t.Logf("noticed after %v:\n%s", time.Since(began).Round(time.Second/10), summary(out))
					return
				}
			}
			t.Errorf("no run has noticed it in %v", time.Since(began))
		})
	}
}

// TestMutationsApply checks that the source still has the texts that TestMutations changes.
func TestMutationsApply(t *testing.T) {
	for _, m := range mutations {
		m.apply(t, filepath.Join("../..", m.file))
	}
}

// apply returns the text of file with the mutation.
func (m *mutation) apply(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		t.Fatalf("%s contains the text to change %d times, not once: %q", m.file, n, m.from)
	}
	return strings.Replace(string(text), m.from, m.to, 1)
}

// build makes this test's program with the mutation.
func (m *mutation) build(t *testing.T, root string) string {
	t.Helper()
	file := filepath.Join(root, m.file)
	changed := m.apply(t, file)
	dir := t.TempDir()
	mutant, overlay, bin := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "chaos.test")
	if err := os.WriteFile(mutant, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, spec, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// run runs a program over the way of m, until it notices something or the time is over, and reports whether it has failed.
func (m *mutation) run(t *testing.T, bin, seed string) (out string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.run=^TestStacks$", "-test.v", "-first", "-only="+m.only)
	cmd.Env = append(os.Environ(), "GOFABRIC_CHAOS=20s", "GOFABRIC_CHAOS_STACK="+m.way, "GOFABRIC_CHAOS_SEED="+seed)
	b, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	if out = string(b); err != nil && !strings.Contains(out, "--- FAIL: TestStacks") {
		t.Fatalf("it failed, but not as a test does: %v\n%s", err, out)
	}
	return out, err != nil
}

// summary is the first fault and the table.
func summary(out string) string {
	fault := regexp.MustCompile(`(?m)^.*: (` + strings.Join(countNames[:], "|") + `): .*$`).FindString(out)
	rows := regexp.MustCompile(`(?m)^ *(seed|\S+@\S+) .*$`).FindAllString(out, -1)
	return strings.Join(append([]string{fault}, rows...), "\n")
}
