//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofabric/test/need"
)

// install runs packaging/install with the given programs.
func install(bin string, env ...string) (string, error) {
	cmd := exec.Command("../../packaging/install")
	cmd.Env = append(os.Environ(), append(env, "BIN="+bin)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestInstall: programs that packaging/install installs work, also after a second run. It leaves other tools of the
// same names alone.
func TestInstall(t *testing.T) {
	t.Parallel()
	need.Programs(t, "coreutils", "sh", "readlink")
	bin, dir := built(t), t.TempDir()
	prefix := filepath.Join(dir, "usr")
	for range 2 {
		if out, err := install(bin, "PREFIX="+prefix); err != nil || out != "" {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, c := range [][]string{{"bin/ofi", "version", "libfabric API"}, {"bin/fabricd", "--version", "libfabric API"}, {"lib/gofabric/bin/fi_strerror", "11", "temporarily unavailable"},
		{"lib/gofabric/bin/fi_info", "--version", "libfabric api: "}, {"lib/gofabric/bin/fi_pingpong", "-h", "Ping pong"}} {
		if out, _ := exec.Command(filepath.Join(prefix, c[0]), c[1]).CombinedOutput(); !strings.Contains(string(out), c[2]) {
			t.Errorf("%s: %s", c, out)
		}
	}
	for _, name := range []string{"ofi", "fabricd"} {
		for _, file := range []string{"bash-completion/completions/" + name, "zsh/site-functions/_" + name, "fish/vendor_completions.d/" + name + ".fish"} {
			if text, err := os.ReadFile(filepath.Join(prefix, "share", file)); err != nil ||
				!strings.Contains(string(text), "completion") || !strings.Contains(string(text), " for "+name) {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	// The links of a package point to the place where it will be unpacked.
	if out, err := install(bin, "PREFIX=/usr", "DESTDIR="+filepath.Join(dir, "package")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if to, err := os.Readlink(filepath.Join(dir, "package/usr/lib/gofabric/bin/fi_info")); err != nil ||
		to != "/usr/bin/ofi" {
		t.Errorf("the link of a package leads to %q, %v", to, err)
	}
	theirs, second := filepath.Join(dir, "theirs"), filepath.Join(dir, "second")
	if err := os.Mkdir(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, occupy := range []func(path string) error{
		func(path string) error { return os.WriteFile(path, []byte("native"), 0o755) },
		func(path string) error { return os.Symlink("/opt/libfabric/bin/fi_pingpong", path) },
	} {
		tool := filepath.Join(theirs, "fi_pingpong")
		if err := occupy(tool); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(tool)
		if out, err := install(bin, "PREFIX="+second, "LINKDIR="+theirs); err == nil || !strings.Contains(out, tool+" is not ours") {
			t.Errorf("%v\n%s", err, out)
		}
		if after, err := os.Lstat(tool); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", tool, err)
		}
		if _, err := os.Lstat(second); err == nil {
			t.Error("programs were installed after a refusal")
		}
		if err := os.Remove(tool); err != nil {
			t.Fatal(err)
		}
	}
}
