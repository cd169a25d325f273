//go:build linux

package page

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

// patience is how long anything here may take; it is only waited for when something is broken.
const patience = 30 * time.Second

// programs is the folder of fabricd and fi, built once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gofabric-page-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-o", dir+"/", "gofabric/cmd/fabricd", "gofabric/cmd/fi")
	build.Stderr = os.Stderr
	return dir, build.Run()
})

// atEnd undoes what was made for all tests.
var atEnd []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, undo := range atEnd {
		undo()
	}
	os.Exit(code)
}

// missing ends a test whose prerequisites are not there.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("GOFABRIC_PEERS") == "required" {
		t.Fatalf("GOFABRIC_PEERS=required, but %s", what)
	}
	t.Skip(what)
}

// site is a fabricd that emulates a fabric.
type site struct {
	t    *testing.T
	bin  string
	dir  string
	link string // to the page, as fabricd printed it
	api  *api.Client
}

// emulate starts a fabricd with a topology: the name of a ready one, or a file.
func emulate(t *testing.T, topology string) *site {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "an emulated fabric needs root here")
	}
	s := newSite(t)
	cmd := s.fabricd("emulate", topology, "--dir", s.dir, "--state-dir", "off", "--log-level", "warn", "--seed", "18446744073709551557")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	text := s.start(cmd, out, "page")
	if s.link = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}`).FindString(text); s.link == "" {
		t.Fatalf("fabricd emulate printed %q, no link", text)
	}
	return s
}

// plain starts a fabricd without a fabric.
func plain(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	cmd := s.fabricd("run", "--dir", s.dir, "--state-dir", "off", "--page", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if text := s.start(cmd, out, "msg=ready"); strings.Contains(text, "token=") {
		t.Errorf("the log has the token: %s", text)
	}
	page := s.fabricd("page")
	link, err := page.CombinedOutput()
	if err != nil {
		t.Fatalf("fabricd page: %v: %s", err, link)
	}
	s.link = strings.TrimSpace(string(link))
	return s
}

func newSite(t *testing.T) *site {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, bin: bin, dir: t.TempDir()}
	if s.api, err = api.Dial(filepath.Join(s.dir, fabricd.API)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.api.Close)
	return s
}

// fabricd is a command of it, about this site.
func (s *site) fabricd(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, "fabricd"), args...)
	cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
	return cmd
}

// start starts a daemon, and returns what it wrote until a line that contains word.
func (s *site) start(cmd *exec.Cmd, out io.Reader, word string) string {
	s.t.Helper()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { end(s.t, cmd) })
	said := make(chan string, 1)
	go func() {
		var text strings.Builder
		lines := bufio.NewReader(out)
		for !strings.Contains(text.String(), word) {
			line, err := lines.ReadString('\n')
			text.WriteString(line)
			if err != nil {
				break
			}
		}
		said <- text.String()
		io.Copy(io.Discard, lines)
	}()
	select {
	case text := <-said:
		return text
	case <-time.After(patience):
		s.t.Fatalf("%s says nothing", cmd)
		return ""
	}
}

// end ends a program, and wants it to end well.
func end(t *testing.T, cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM)
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("fabricd: %v", err)
	}
}

// ask asks the daemon behind the page's back.
func (s *site) ask(method, path string, in, out any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.api.Do(ctx, method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

// fabric is the fabric as the API has it.
func (s *site) fabric() (e api.Emulation) {
	s.t.Helper()
	s.ask("GET", "/v1/emulation", nil, &e)
	return e
}

// change changes a link.
func (s *site) change(link string, c api.LinkChange) {
	s.t.Helper()
	s.ask("PATCH", "/v1/emulation/links/"+link, c, nil)
}

// run runs fi in a node until the test ends, again and again: a client may come before its server.
func (s *site) run(node string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	s.t.Cleanup(func() {
		cancel()
		ended.Wait()
	})
	ended.Go(func() {
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "fabricd"), append([]string{"exec", node, "--", filepath.Join(s.bin, "fi")}, args...)...)
			cmd.Env = append(os.Environ(), fabricd.EnvDir+"="+s.dir)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.WaitDelay = patience
			cmd.Run() // how it ends does not matter
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// thorough skips what takes a browser long, but where all of it is asked for.
func thorough(t *testing.T) {
	t.Helper()
	if os.Getenv("GOFABRIC_MANY") == "" {
		t.Skip("GOFABRIC_MANY=1 runs all tests of the page")
	}
}
