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

// Build builds commands of the workspace, such as gofabric/cmd/ofi, into a folder, without cgo, as they are packed. It has go run do it, whose programs Go's build
// cache keeps: go build links anew for each folder.
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

// noteSources looks at all files of the workspace that commands may be made of, so that go test runs a test again when one has changed: its cache knows which files a test
// has looked at, and not what go run read. It ignores those outside the test's module, so the module of tests has a link to the workspace, testdata/workspace.
func noteSources() error {
	root, err := module()
	if err != nil {
		return err
	}
	if link := filepath.Join(root, "testdata", "workspace"); exists(link) {
		root = link + "/." // WalkDir does not follow a link
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && path != root && (name == "testdata" || name == "docs" || name == "build" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's, that was there a moment ago
		}
		return err
	})
}

// module returns the folder of the module that the test runs in.
func module() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && !exists(filepath.Join(dir, "go.mod")); dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) {
			err = errors.New("a test builds a command, but does not run in a folder of a module")
		}
	}
	return dir, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
