package fabricd

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// TestDiskFull checks that a daemon whose disk is full reports so and serves what it has. It accepts changes again
// when there is room, and has lost nothing.
func TestDiskFull(t *testing.T) {
	dir := newDir(t)
	state := filepath.Join(dir, "disk")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("disk", state, "tmpfs", 0, "size=1m,mode=700"); err != nil {
		need.Missing(t, "a small disk needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
	p := start(t, dir, "--state-dir", state)
	c := client(t, dir)
	ctx := within(t, time.Minute)
	put := func(i int) error {
		return c.Do(ctx, "PUT", api.NamePath(fmt.Sprint("job/", i)),
			api.Registration{Address: strings.Repeat("x", 4000)}, nil)
	}
	n := 0
	for ; put(n) == nil; n++ { // until the disk is full
		if n == 100 {
			file, err := os.Create(filepath.Join(state, "other"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.Write(make([]byte, 1<<20))
			if file.Close(); err == nil {
				t.Fatal("the disk is not full")
			}
		}
	}
	if n < 100 {
		t.Fatalf("only %d names fit", n)
	}
	if err := put(n); status(err) != 503 || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("with a full disk: %v", err)
	}
	if text := run(t, dir, "status"); !strings.Contains(text, "trouble in directory: ") ||
		!strings.Contains(text, "no space left") {
		t.Errorf("status says %s", text)
	}
	if text := metrics(t, dir); !strings.Contains(text, "\nfabricd_directory_writable 0\n") {
		t.Errorf("metrics say %s", text)
	}
	if err := c.Do(ctx, "GET", api.NamePath("job/1"), nil, new(api.Name)); err != nil {
		t.Errorf("names that are registered cannot be read: %v", err)
	}
	if err := os.Remove(filepath.Join(state, "other")); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the daemon tries the disk again", func() bool {
		err := put(n)
		if err != nil && status(err) != 503 {
			t.Fatal(err)
		}
		return err == nil
	})
	if text := run(t, dir, "status"); strings.Contains(text, "trouble") {
		t.Errorf("status says %s", text)
	}
	if text := metrics(t, dir); !strings.Contains(text, "\nfabricd_directory_writable 1\n") {
		t.Errorf("metrics say %s", text)
	}
	p.Kill()
	start(t, dir, "--state-dir", state)
	if got := strings.Count(run(t, dir, "names"), "\njob/"); got != n+1 {
		t.Errorf("%d names after a restart, want %d", got, n+1)
	}
}

func metrics(t *testing.T, dir string) string {
	t.Helper()
	c := dial(t, dir)
	defer c.Close()
	fmt.Fprint(c, "GET /metrics HTTP/1.0\r\n\r\n")
	answer, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(answer), fmt.Sprint(http.StatusOK)) {
		t.Fatalf("%s, %v", answer, err)
	}
	return string(answer)
}
