package tidy

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// required has the modules that the library may require directly. Tests of the library may also use rapid and goleak,
// which the modules of commands and tests require: in the workspace the go command finds them there.
var required = []string{"github.com/cilium/ebpf", "github.com/google/gopacket", "github.com/prometheus/client_golang",
	"github.com/vishvananda/netlink", "golang.org/x/sys"}

// module has the output of go mod edit -json and go work edit -json.
type module struct {
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct{ Old, New struct{ Path string } }
	Use     []struct{ DiskPath string }
}

// edit parses a go.mod or go.work.
func edit(t *testing.T, args ...string) (m module) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestModules checks the requirements of the workspace's modules: the library requires little, all modules require
// the same versions, and each module finds the others without the workspace.
func TestModules(t *testing.T) {
	versions := map[string]string{}
	for _, u := range edit(t, "work", "edit", "-json").Use {
		file := filepath.Join(u.DiskPath, "go.mod")
		m := edit(t, "mod", "edit", "-json", file)
		at := map[string]string{}
		for _, r := range m.Replace {
			at[r.Old.Path] = r.New.Path
		}
		for _, r := range m.Require {
			dir, ours := moduleDir(r.Path)
			switch v := versions[r.Path]; {
			case u.DiskPath == "." && !r.Indirect && !slices.Contains(required, r.Path):
				t.Errorf("the library requires %s directly; it may require %s", r.Path, strings.Join(required, ", "))
			case ours && filepath.Join(u.DiskPath, at[r.Path]) != filepath.Clean(dir):
				t.Errorf("%s requires %s and replaces it by %q, which is not where it is", file, r.Path, at[r.Path])
			case v != "" && v != r.Version:
				t.Errorf("%s requires %s %s, and another module requires %s", file, r.Path, r.Version, v)
			}
			versions[r.Path] = r.Version
		}
	}
	if len(versions) < 10 {
		t.Errorf("only %v are required: this test has checked nothing", slices.Sorted(maps.Keys(versions)))
	}
}
