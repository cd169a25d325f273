package fabricd

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"gofabric/internal/fabricd"
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

// checkArguments makes the daemon parse a command line without running.
func checkArguments(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(binary, append(args, "--help")...).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "fabricd "+args[0]) {
		t.Errorf("fabricd %v: %v, %s", args, err, out)
	}
}

// TestUnits checks that systemd accepts the units, and that they name the daemon's sockets and flags.
func TestUnits(t *testing.T) {
	service, sockets := read(t, packaging+"systemd/fabricd.service"), read(t, packaging+"systemd/fabricd.socket")
	for _, line := range strings.Split(service, "\n") {
		if command, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/fabricd "); ok {
			checkArguments(t, strings.Fields(command)...)
		}
	}
	for _, s := range []string{"ListenStream=/run/fabricd/" + fabricd.API,
		"ListenStream=/run/fabricd/" + fabricd.Stats} {
		if !strings.Contains(sockets, s+"\n") {
			t.Errorf("no %s", s)
		}
	}
	analyze := need.Programs(t, "systemd", "systemd-analyze") // for the checks below
	dir := newDir(t)
	for name, text := range map[string]string{"fabricd.service": strings.ReplaceAll(service, "/usr/bin/fabricd", binary), "fabricd.socket": sockets} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, "fabricd.service"),
		filepath.Join(dir, "fabricd.socket"))
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("fabricd")) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestManifest checks that the Kubernetes manifest is valid YAML, that the daemon accepts its arguments and
// configuration, and that all mounted volumes exist.
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
			t.Errorf("%s is mounted, but there is no such volume", m.Name)
		}
	}
	dir := newDir(t)
	file := filepath.Join(dir, "fabricd.yaml")
	if err := os.WriteFile(file, []byte(kinds["ConfigMap"].Data["fabricd.yaml"]), 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "--config", file, "--log-format", "text")
	if out, err := exec.Command(binary, "status", "--socket",
		filepath.Join(dir, fabricd.API)).CombinedOutput(); err != nil {
		t.Errorf("the probe: %v, %s", err, out)
	}
	if err := exec.Command(binary, "status", "--socket", filepath.Join(newDir(t), fabricd.API)).Run(); err == nil {
		t.Error("the probe succeeds without a daemon")
	}
}

// TestAlone runs the daemon as in a container: a static program in a root folder that contains nothing else.
func TestAlone(t *testing.T) {
	need.Root(t, "a root folder of its own")
	root := newDir(t)
	copyTo(t, filepath.Join(root, "fabricd"))
	testImage(t, root, []string{"FABRICD_DIR=/run/fabricd", "FABRICD_STATE_DIR=/var/lib/fabricd"},
		[]string{"/fabricd", "run"})
}

// copyTo copies the program under test to path.
func copyTo(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(read(t, binary)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestContainer builds the image without a network, and runs its command in its file system.
func TestContainer(t *testing.T) {
	need.Root(t, "the image's file system")
	buildah := need.Programs(t, "buildah", "buildah")
	dir := newDir(t)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(buildah,
			append([]string{"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"),
				"--storage-driver", "vfs"}, args...)...)
		var log bytes.Buffer
		cmd.Stderr = &log
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("buildah %v: %v\n%s%s", args, err, out, &log)
		}
		return strings.TrimSpace(string(out))
	}
	files := newDir(t)
	copyTo(t, filepath.Join(files, "fabricd"))
	run("build", "--isolation", "chroot", "--pull-never", "-f",
		packaging+"container/Containerfile", "-t", "fabricd", files)
	var image struct {
		OCIv1 struct {
			Config struct {
				Env, Entrypoint, Cmd []string
				Volumes              map[string]struct{}
			}
		}
	}
	if err := json.Unmarshal([]byte(run("inspect", "--type", "image", "localhost/fabricd")), &image); err != nil {
		t.Fatal(err)
	}
	c := image.OCIv1.Config
	for _, v := range []string{"/run/fabricd", "/var/lib/fabricd"} {
		if _, ok := c.Volumes[v]; !ok {
			t.Errorf("%s is not a volume: %v", v, c.Volumes)
		}
	}
	testImage(t, run("mount", run("from", "localhost/fabricd")), c.Env, append(c.Entrypoint, c.Cmd...))
}

// testImage runs the command of an image in its root folder, and other commands beside it.
func testImage(t *testing.T, root string, env, args []string) {
	t.Helper()
	in := func(args ...string) *exec.Cmd {
		return &exec.Cmd{Path: args[0], Args: args, Env: env, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Chroot: root}}
	}
	daemon := in(args...)
	daemon.Env = append(slices.Clip(env), "FABRICD_LISTEN="+program.FreeAddress(t))
	startCommand(t, root, daemon)
	for _, c := range []struct{ want, command string }{
		{"fabricd runs", "status"}, {"remains for good", "put job/1 10.0.0.1:1"}, {"10.0.0.1:1", "names"},
		{"https://", "page"}, {"nothing is stuck", "stuck"},
	} {
		if out, err := in(append(args[:1:1], strings.Fields(c.command)...)...).CombinedOutput(); err != nil ||
			!strings.Contains(string(out), c.want) {
			t.Errorf("in the image, fabricd %s: %v, %s", c.command, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "var/lib/fabricd/directory")); err != nil {
		t.Error(err)
	}
}
