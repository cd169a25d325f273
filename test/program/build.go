package program

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// Build builds commands of this module, such as gofabric/cmd/fi, into a folder, without cgo, as they are packed. It has go run do it, whose programs Go's build
// cache keeps: go build links anew for each folder.
func Build(dir string, commands ...string) error {
	for _, c := range commands {
		cmd := exec.Command("go", "run", "-exec", `sh -c 'cp "$0" "$BUILT"'`, c)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "BUILT="+filepath.Join(dir, path.Base(c)))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", c, err, out)
		}
	}
	return nil
}
