package weight

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	_ "gofabric/all" // go test's cache must know the sources of the programs
)

// Limits for the size of ./hello on linux/amd64, in bytes. docs/decisions/0031-a-program-has-what-it-imports.md lists
// its parts.
const (
	strippedMax = 5_000_000 // without debug information: -ldflags="-s -w"
	plainMax    = 7_000_000
)

// modules are the modules that hello may contain, besides this one and the standard library.
var modules = []string{"golang.org/x/sys"}

// packages are the packages of the standard library that hello must not contain.
var packages = []string{"net/http", "encoding/json", "log/slog", "crypto/tls",
	"text/template", "os/exec", "os/user", "regexp"}

// program writes a program into a module of its own, which requires this one, and returns the folder.
func program(t *testing.T, main string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/hello\n\ngo 1.26.0\n\nrequire gofabric v0.0.0\n\nreplace gofabric => " + root + "\n", "go.sum": string(sums), "main.go": main,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command runs a program in a folder, outside all workspaces.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// size builds the program in dir and returns the length of the file.
func size(t *testing.T, dir string, args ...string) int64 {
	t.Helper()
	command(t, dir, "go", append([]string{"build", "-o", "hello"}, args...)...)
	i, err := os.Stat(filepath.Join(dir, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	return i.Size()
}

// TestHello checks that a program that uses only tcp works, contains neither HTTP nor AF_XDP nor anything else that it
// does not use, and is small.
func TestHello(t *testing.T) {
	main, err := os.ReadFile("hello/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := program(t, string(main))
	plain := size(t, dir)
	if got := command(t, dir, "./hello"); got != "hello, fabric\n" {
		t.Errorf("it prints %q", got)
	}
	for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)`).FindAllStringSubmatch(command(t, dir, "go", "version", "-m", "hello"), -1) {
		if m[1] != "gofabric" && !slices.Contains(modules, m[1]) {
			t.Errorf("it contains the module %s", m[1])
		}
	}
	for p := range strings.Lines(command(t, dir, "go", "list", "-deps", ".")) {
		if p = strings.TrimSpace(p); slices.Contains(packages, p) || strings.HasPrefix(p, "gofabric/provider/udp") ||
			strings.HasPrefix(p, "gofabric/util/") {
			t.Errorf("it contains the package %s", p)
		}
	}
	stripped := size(t, dir, "-ldflags=-s -w")
	t.Logf("%d bytes, %d without debug information", plain, stripped)
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && (plain > plainMax || stripped > strippedMax) {
		t.Errorf("%d bytes, %d without debug information: more than %d, or %d", plain, stripped, plainMax, strippedMax)
	}
}

// TestLacking checks that errors name what a program does not import.
func TestLacking(t *testing.T) {
	main, err := os.ReadFile("calls/main.go")
	if err != nil {
		t.Fatal(err)
	}
	const none, tcp, all = "", `import _ "gofabric/provider/tcp"`, `import _ "gofabric/all"`
	for imports, calls := range map[string][]struct{ call, env, want string }{
		none: {{"open", "", `import _ "gofabric/all"`}},
		tcp: {
			{"open udp", "", `import _ "gofabric/provider/udp"`},
			{"open tcp;ofi_rxm", "", `import _ "gofabric/util/rxm"`},
			{"open shm", "", `there is no provider "shm"`},
			{"dial fabric://job/1", "", `import _ "gofabric/fabricd"`},
			{"name job/1", "", `import _ "gofabric/fabricd"`},
			{"open", "verbs", `import _ "gofabric/util/strict"`},
			{"open", "off", "<nil>"},
		},
		all: {{"open udp;ofi_rxd", "", "<nil>"}, {"open", "verbs", "<nil>"}},
	} {
		dir := program(t, string(main))
		if err := os.WriteFile(filepath.Join(dir, "imports.go"),
			[]byte("package main\n\n"+imports+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		size(t, dir)
		for _, c := range calls {
			t.Setenv("FI_STRICT", c.env)
			if got := command(t, dir, "./hello", strings.Fields(c.call)...); !strings.Contains(got, c.want) {
				t.Errorf("%s, %s, FI_STRICT=%s: %s; want %s", imports, c.call, c.env, got, c.want)
			}
		}
	}
}
