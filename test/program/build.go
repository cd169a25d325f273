package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Build builds commands of the workspace, such as gofabric/cmd/ofi, into a folder, without cgo, as they are packaged.
// It uses go run, whose programs are kept in Go's build cache: go build links again for each folder.
func Build(dir string, commands ...string) error {
	if err := noteSources(); err != nil {
		return err
	}
	for _, c := range commands {
		cmd := exec.Command("go", "run", "-exec", `sh -c 'cp "$0" "$BUILT"'`, c)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "BUILT="+filepath.Join(dir, path.Base(c)))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", c, err, out)
		}
	}
	return nil
}

// noteSources stats all source files of the workspace, so that go test runs a test again when one of them changes. go
// test's cache records the files that a test opens, but not those that go run reads. It ignores files outside of the
// test's module, so the module of tests has a link to the workspace, testdata/workspace.
func noteSources() error {
	root, err := module()
	if err != nil {
		return err
	}
	if link := filepath.Join(root, "testdata", "workspace"); exists(link) {
		root = link + "/." // WalkDir does not follow links
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && path != root &&
			(name == "testdata" || name == "docs" || name == "build" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's temporary file that is gone already
		}
		return err
	})
}

// module returns the folder of the module that the test runs in.
func module() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && !exists(filepath.Join(dir, "go.mod")); dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) {
			err = errors.New("a test that builds a command must run in a folder of a module")
		}
	}
	return dir, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
