package fabricd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gofabric/test/need"
	"gofabric/test/program"
)

// listening returns the TCP addresses on which a process listens, as the kernel writes them (proc(5),
// /proc/PID/net/tcp).
func listening(t *testing.T, pid int) (addresses []string) {
	t.Helper()
	own := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Skip("no /proc to read sockets from: ", err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			own[to] = true
		}
	}
	for _, file := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			const listen = "0A" // TCP_LISTEN, include/net/tcp_states.h
			if f := strings.Fields(line); len(f) > 9 && f[3] == listen && own["socket:["+f[9]+"]"] {
				addresses = append(addresses, f[1])
			}
		}
	}
	return addresses
}

// page runs fabricd page. The link is all that it writes to standard output; notes is its standard error.
func page(t *testing.T, dir string, args ...string) (link, notes string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"page", "--socket", filepath.Join(dir, "api.sock")}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fabricd page %v: %v: %s", args, err, said.String())
	}
	return strings.TrimSuffix(string(out), "\n"), said.String()
}

// TestNoPort checks that a daemon has no TCP port before one is requested, then one on loopback, and none after it is
// closed.
func TestNoPort(t *testing.T) {
	for name, args := range map[string][]string{"run": {"run"}, "emulate": {"emulate", "pair"}} {
		t.Run(name, func(t *testing.T) {
			if name == "emulate" {
				need.Emulation(t)
			}
			dir := newDir(t)
			cmd := exec.Command(binary, append(args, "--dir", dir)...)
			p := startCommand(t, dir, cmd)
			pid := cmd.Process.Pid
			if got := listening(t, pid); len(got) != 0 {
				t.Fatalf("without a request the daemon listens on %v", got)
			}
			pem, _ := page(t, dir, "--certificate")
			if got := listening(t, pid); len(got) != 0 || !strings.HasPrefix(pem, "-----BEGIN CERTIFICATE") {
				t.Errorf("after a request for the certificate the daemon listens on %v and prints %q", got, pem)
			}
			link, notes := page(t, dir)
			if got := listening(t, pid); len(got) != 1 || !strings.HasPrefix(got[0], "0100007F:") {
				t.Errorf("after a request for the page the daemon listens on %v", got)
			}
			if !strings.HasPrefix(link, "https://127.0.0.1:") || !strings.Contains(notes, "SHA-256") {
				t.Errorf("fabricd page prints %q and %q", link, notes)
			}
			page(t, dir, "--close")
			if got := listening(t, pid); len(got) != 0 {
				t.Errorf("after a request to close the page the daemon listens on %v", got)
			}
			p.Stop()
		})
	}
}

// TestPageOption tests --page with and without an address, as one argument and as two, in the environment and in the
// file, and with invalid addresses.
func TestPageOption(t *testing.T) {
	file := filepath.Join(newDir(t), "fabricd.yaml")
	if err := os.WriteFile(file, []byte("page: on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := program.FreeAddress(t)
	for what, c := range map[string]struct {
		args []string
		env  string
		want string
	}{
		"a flag":               {args: []string{"--page"}, want: "https://127.0.0.1:"},
		"two words":            {args: []string{"--page", address}, want: "https://" + address + "/"},
		"one word":             {args: []string{"--page=" + address}, want: "https://" + address + "/"},
		"a variable":           {env: "FABRICD_PAGE=on", want: "https://127.0.0.1:"},
		"a file":               {args: []string{"--config", file}, want: "https://127.0.0.1:"},
		"a file, but the flag": {args: []string{"--config", file, "--page", "off"}},
	} {
		dir := newDir(t)
		cmd := exec.Command(binary, append([]string{"run", "--dir", dir}, c.args...)...)
		cmd.Env = append(os.Environ(), c.env)
		p := startCommand(t, dir, cmd)
		if got := len(listening(t, cmd.Process.Pid)); got == 0 != (c.want == "") {
			t.Errorf("%s: the daemon listens on %d ports", what, got)
		}
		if c.want != "" {
			if link, _ := page(t, dir); !strings.HasPrefix(link, c.want) {
				t.Errorf("%s: %s", what, link)
			}
		}
		p.Stop()
	}
	for _, bad := range []string{"0.0.0.0:7481", ":7481", "localhost:7481"} {
		out, err := exec.Command(binary, "run", "--dir", newDir(t), "--page", bad).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "give a loopback address") {
			t.Errorf("--page %s: %v, %s", bad, err, out)
		}
	}
}

// TestPageRestart checks that a restarted daemon has the same certificate, and does not accept the token of before.
func TestPageRestart(t *testing.T) {
	dir, address := newDir(t), program.FreeAddress(t)
	p := start(t, dir, "--page", address)
	link, notes := page(t, dir)
	p.Kill()
	p = start(t, dir, "--page", address)
	next, again := page(t, dir)
	if next == link || again != notes {
		t.Errorf("links %s and %s, notes %q and %q", link, next, notes, again)
	}
	c, token := trusting(t, dir), tokenOf(t, link)
	if got, _ := send(t, c, "GET", "https://"+address+"/v1/status", "", "Authorization", "Bearer "+token); got != 401 {
		t.Errorf("a request with the old token: status %d", got)
	}
	p.Signal(syscall.SIGHUP)
	p.Expect("msg=reloaded")
	if got, _ := send(t, c, "GET", "https://"+address+"/v1/status", "", "Authorization",
		"Bearer "+tokenOf(t, next)); got != 200 {
		t.Errorf("a request with the token after a reload: status %d", got)
	}
}

// tokenOf returns the token in a link.
func tokenOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Fragment, "token=")
}

// TestPageAsOther checks that other users can neither open nor close the port, nor read its token.
func TestPageAsOther(t *testing.T) {
	dir := newDir(t)
	p := start(t, dir)
	all := []request{{"GET", "/v1/page", nil}, {"PUT", "/v1/page", nil}, {"DELETE", "/v1/page", nil}}
	refused := func() {
		t.Helper()
		for i, got := range as(t, 65532, dir, all...) {
			if got != 403 {
				t.Errorf("%s: %d", all[i].Method, got)
			}
		}
	}
	refused()
	if got := listening(t, p.Cmd.Process.Pid); len(got) != 0 {
		t.Errorf("the daemon listens on %v", got)
	}
	page(t, dir)
	refused()
	if got := listening(t, p.Cmd.Process.Pid); len(got) != 1 {
		t.Errorf("the daemon listens on %v", got)
	}
}

// TestSilentTLS checks that clients that connect and send nothing take no more than their share of connections, and do
// not affect clients of the Unix socket. With GOFABRIC_MANY, the daemon closes them in time, and serves the page
// again.
func TestSilentTLS(t *testing.T) {
	dir, address, listen := newDir(t), program.FreeAddress(t), program.FreeAddress(t)
	start(t, dir, "--page", address, "--listen", listen, "--connections-per-user", "4")
	links, _ := page(t, dir)
	link, _, _ := strings.Cut(links, "\n") // the second link is that of --listen
	c := trusting(t, dir)
	ask := func() int {
		status, _ := send(t, c, "GET", "https://"+address+"/v1/status", "", "Authorization", "Bearer "+tokenOf(t, link))
		return status
	}
	var silent []net.Conn
	for range 4 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	fifth, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer fifth.Close()
	_ = fifth.SetReadDeadline(time.Now().Add(5 * time.Second)) // less than a handshake may take
	if _, err := fifth.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the fifth connection, with a limit of four: %v", err)
	}
	mustAnswer(t, client(t, dir))
	token, err := os.ReadFile(filepath.Join(dir, "state/token"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := send(t, trusting(t, dir), "GET", "https://"+listen+"/v1/status", "", "Authorization",
		"Bearer "+strings.TrimSpace(string(token))); got != 200 {
		t.Errorf("--listen, while the page's connections are taken: status %d", got)
	}
	if !need.Many() {
		return
	}
	var ends sync.WaitGroup
	for _, conn := range silent {
		ends.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a client that sends nothing is still connected")
			}
		})
	}
	ends.Wait()
	if got := ask(); got != 200 {
		t.Errorf("a request after they were closed: status %d", got)
	}
}
