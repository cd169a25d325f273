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

// Orderings of the code that TestMutations breaks, to check that a run notices.

type mutation struct {
	name     string
	file     string // of this module
	from, to string // text that the file contains once, and its replacement
	way      string // GOFABRIC_CHAOS_STACK
	only     string // kinds of events
}

var mutations = []mutation{
	// A buffer is handed back while its seal is still valid.
	{"seal", "internal/xnet/engine/seal.go", "\t\tt.seals.Break(i)\n", "",
		"tcp/rdm@memory", "close,stop,client"},
	// A close does not wait.
	{"drain", "internal/endpoint/linger.go", "if d.Drained(true) {", "if d.Drained(true) || !d.Drained(true) {",
		"udp;ofi_rxd@fault", "close,stop,client"},
	// A message is acknowledged before it has arrived.
	{"ack", "internal/xnet/engine/arrivals.go", "\tl.op, l.n, l.hasAck = op, int(op.niov), op.ack\n",
		"\tl.op, l.n, l.hasAck = op, int(op.niov), false\n\tif op.ack {\n\t\tc.acknowledge()\n\t}\n",
		"udp;ofi_rxd@sockets", "kill,close,client"},
}

// mutationRounds is how often a run with a mutation may find nothing.
const mutationRounds = 3

// TestMutations breaks three important orderings, one after the other: a buffer is handed back after its seal is
// broken, a close ends after what was sent has arrived, and an acknowledgement leaves after the message has arrived.
// Runs must fail with each mutation, and succeed without.
func TestMutations(t *testing.T) {
	need.Asked(t, "it builds this test three times and runs each for a minute or two")
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

// build builds this test's program with the mutation.
func (m *mutation) build(t *testing.T, root string) string {
	t.Helper()
	file := filepath.Join(root, m.file)
	changed := m.apply(t, file)
	dir := t.TempDir()
	mutant, overlay, bin := filepath.Join(dir, "mutant.go"),
		filepath.Join(dir, "overlay.json"), filepath.Join(dir, "chaos.test")
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
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", bin,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// run runs the program over the mutation's stack until a fault is found or the time is over. It reports whether the
// program has failed.
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
		t.Fatalf("the program failed, but not as a test does: %v\n%s", err, out)
	}
	return out, err != nil
}

// summary returns the first fault and the table.
func summary(out string) string {
	fault := regexp.MustCompile(`(?m)^.*: (` + strings.Join(countNames[:], "|") + `): .*$`).FindString(out)
	rows := regexp.MustCompile(`(?m)^ *(seed|\S+@\S+) .*$`).FindAllString(out, -1)
	return strings.Join(append([]string{fault}, rows...), "\n")
}
