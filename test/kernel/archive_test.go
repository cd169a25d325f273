//go:build linux && amd64

package kernel

import (
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
)

// root is the module's folder, relative to this package.
const root = "../.."

// archive is the initial file system of the machine (initramfs: Documentation/filesystems/ramfs-rootfs-initramfs.rst).
type archive struct {
	t    *testing.T
	file *os.File
	w    *cpio.Writer
	has  map[string]bool
}

func newArchive(t *testing.T) *archive {
	f, err := os.Create(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{t, f, cpio.NewWriter(f), map[string]bool{"/": true}}
	a.folder("/var")
	a.folder("/run")
	a.head(&cpio.Header{Name: "/var/run", Mode: cpio.TypeSymlink | 0o777, Linkname: "/run", Size: int64(len("/run"))})
	a.write(strings.NewReader("/run"))
	return a
}

// close returns the path of the archive.
func (a *archive) close() string {
	if err := a.w.Close(); err != nil {
		a.t.Fatal(err)
	}
	if err := a.file.Close(); err != nil {
		a.t.Fatal(err)
	}
	return a.file.Name()
}

func (a *archive) head(h *cpio.Header) {
	a.has[h.Name] = true
	h.Name = strings.TrimPrefix(h.Name, "/")
	if err := a.w.WriteHeader(h); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) write(r io.Reader) {
	if _, err := io.Copy(a.w, r); err != nil {
		a.t.Fatal(err)
	}
}

// folder adds a folder and its parents.
func (a *archive) folder(name string) {
	if a.has[name] {
		return
	}
	a.folder(path.Dir(name))
	a.head(&cpio.Header{Name: name, Mode: cpio.TypeDir | 0o755})
}

// text adds a file with this text.
func (a *archive) text(name, text string) {
	a.folder(path.Dir(name))
	a.head(&cpio.Header{Name: name, Mode: cpio.TypeReg | 0o644, Size: int64(len(text))})
	a.write(strings.NewReader(text))
}

// copy adds a file of this machine.
func (a *archive) copy(name, from string) {
	if a.has[name] {
		return
	}
	a.folder(path.Dir(name))
	f, err := os.Open(from)
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		a.t.Fatal(err)
	}
	a.head(&cpio.Header{Name: name, Mode: cpio.TypeReg | cpio.FileMode(info.Mode().Perm()), Size: info.Size()})
	a.write(f)
}

// library matches the files that ldd(1) prints.
var library = regexp.MustCompile(`(/\S+) \(0x`)

// tool adds a program of this machine, with the libraries that it needs.
func (a *archive) tool(name string) {
	from, err := exec.LookPath(name)
	if err != nil {
		a.t.Fatalf("tests call %s: %v", name, err)
	}
	a.copy("/bin/"+name, from)
	out, err := exec.Command("ldd", from).Output()
	if err != nil && !strings.Contains(string(out), "not a dynamic executable") {
		a.t.Fatalf("ldd %s: %v", from, err)
	}
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		a.copy(m[1], m[1])
	}
}

// program adds a program of this module.
func (a *archive) program(name, pkg string) { a.build(name, "build", pkg) }

// tests adds the tests of a package as a program, in the package's folder, with their data.
func (a *archive) tests(pkg string) {
	a.build("/"+pkg+"/tests", "test", "-c", "./"+pkg)
	data := filepath.Join(root, pkg, "testdata")
	err := filepath.WalkDir(data, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var inside string
			if inside, err = filepath.Rel(root, name); err == nil {
				a.copy("/"+inside, name)
			}
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
}

// build builds a program that needs no libraries.
func (a *archive) build(name string, args ...string) {
	out := filepath.Join(a.t.TempDir(), path.Base(name))
	cmd := exec.Command("go", slices.Insert(slices.Clone(args), 1, "-o", out, "-ldflags=-s -w")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("%v: %v\n%s", cmd, err, said)
	}
	a.copy(name, out)
}

// modulePaths returns the files of the modules and of those that they need, in the order to load them.
func modulePaths(t *testing.T, tree string) (paths []string) {
	files := map[string]string{}
	err := filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if module, ok := strings.CutSuffix(path.Base(name), ".ko"); ok {
			files[strings.ReplaceAll(module, "-", "_")] = name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var need func(module string)
	need = func(module string) {
		file := files[module]
		if file == "" || slices.Contains(paths, file) {
			return // a module without a file is built into the kernel, or the test that needs it will fail
		}
		for _, below := range needs(t, file) {
			need(below)
		}
		paths = append(paths, file)
	}
	for _, m := range modules {
		need(m)
	}
	return paths
}

// needs returns the modules that a module depends on.
func needs(t *testing.T, file string) []string {
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		t.Fatal(fmt.Errorf("%s is not a kernel module", file))
	}
	info, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(info), "\x00") {
		if list, ok := strings.CutPrefix(entry, "depends="); ok && list != "" {
			return strings.Split(list, ",")
		}
	}
	return nil
}
