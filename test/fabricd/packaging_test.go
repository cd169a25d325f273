package fabricd

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
)

const packaging = "../../packaging/"

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkArguments has the daemon parse a command line without running it.
func checkArguments(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(binary, append(args, "--help")...).CombinedOutput(); err != nil || !strings.Contains(string(out), "fabricd "+args[0]) {
		t.Errorf("fabricd %v: %v, %s", args, err, out)
	}
}

// TestUnits: systemd finds nothing wrong with the units, and they name our sockets and flags.
func TestUnits(t *testing.T) {
	service, sockets := read(t, packaging+"systemd/fabricd.service"), read(t, packaging+"systemd/fabricd.socket")
	for _, line := range strings.Split(service, "\n") {
		if command, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/fabricd "); ok {
			checkArguments(t, strings.Fields(command)...)
		}
	}
	for _, s := range []string{"ListenStream=/run/fabricd/" + fabricd.API, "ListenStream=/run/fabricd/" + fabricd.Stats, "ListenSequentialPacket=/run/fabricd/" + fabricd.XDP} {
		if !strings.Contains(sockets, s+"\n") {
			t.Errorf("no %s", s)
		}
	}
	analyze := need.Programs(t, "systemd", "systemd-analyze") // to ask more
	dir := newDir(t)
	for name, text := range map[string]string{"fabricd.service": strings.ReplaceAll(service, "/usr/bin/fabricd", binary), "fabricd.socket": sockets} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, "fabricd.service"), filepath.Join(dir, "fabricd.socket"))
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("fabricd")) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestManifest: the manifest is YAML, its arguments are ours, its configuration is one the daemon takes, and what is mounted is there.
func TestManifest(t *testing.T) {
	type document struct {
		Kind string
		Data map[string]string
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args         []string
						VolumeMounts []struct{ Name, MountPath string } `yaml:"volumeMounts"`
					}
					Volumes []struct{ Name string }
				}
			}
		}
	}
	kinds := map[string]document{}
	for d := yaml.NewDecoder(strings.NewReader(read(t, packaging+"kubernetes/fabricd.yaml"))); ; {
		var doc document
		if err := d.Decode(&doc); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds[doc.Kind] = doc
	}
	pod := kinds["DaemonSet"].Spec.Template.Spec
	if len(pod.Containers) != 1 || len(kinds) != 3 {
		t.Fatalf("%+v", kinds)
	}
	checkArguments(t, pod.Containers[0].Args...)
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s is mounted, but no volume", m.Name)
		}
	}
	dir := newDir(t)
	file := filepath.Join(dir, "fabricd.yaml")
	if err := os.WriteFile(file, []byte(kinds["ConfigMap"].Data["fabricd.yaml"]), 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "--config", file, "--log-format", "text")
	if out, err := exec.Command(binary, "status", "--socket", filepath.Join(dir, fabricd.API)).CombinedOutput(); err != nil {
		t.Errorf("the probe: %v, %s", err, out)
	}
	if err := exec.Command(binary, "status", "--socket", filepath.Join(newDir(t), fabricd.API)).Run(); err == nil {
		t.Error("the probe succeeds without a daemon")
	}
}

// TestAlone runs the daemon as the container does: static, in a root with nothing else in it.
func TestAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder")
	}
	root := newDir(t)
	if err := os.WriteFile(filepath.Join(root, "fabricd"), []byte(read(t, binary)), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: "/fabricd", Args: []string{"/fabricd", "run"}, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Chroot: root}}
	cmd.Env = []string{"FABRICD_DIR=/run/fabricd", "FABRICD_STATE_DIR=/var/lib/fabricd", "FABRICD_LISTEN=" + program.FreeAddress(t)}
	startCommand(t, root, cmd)
	if err := client(t, filepath.Join(root, "run/fabricd")).Do(within(t, time.Minute), "PUT", api.NamePath("a"), api.Registration{Address: "1"}, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "var/lib/fabricd/directory")); err != nil {
		t.Error(err)
	}
}
