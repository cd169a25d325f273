package directory

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/test/need"
)

// etcd is a cluster of three members on loopback.
type etcd struct {
	endpoints []string
	ca        string
	members   []*exec.Cmd
}

// startEtcd starts a cluster that ends with the test.
func startEtcd(t *testing.T) *etcd {
	t.Helper()
	path := need.Programs(t, "etcd-server", "etcd")
	dir := t.TempDir()
	c := &etcd{ca: filepath.Join(dir, "ca.pem")}
	ports := freePorts(t, 6)
	var initial []string
	for i := range 3 {
		initial = append(initial, fmt.Sprintf("m%d=http://127.0.0.1:%d", i, ports[2*i]))
	}
	var logs [3]bytes.Buffer
	for i := range 3 {
		peer, client := fmt.Sprintf("http://127.0.0.1:%d", ports[2*i]), fmt.Sprintf("https://127.0.0.1:%d", ports[2*i+1])
		cmd := exec.Command(path, "--name", fmt.Sprint("m", i), "--data-dir", filepath.Join(dir, fmt.Sprint("m", i)), "--auto-tls", "--logger", "zap",
			"--initial-cluster", strings.Join(initial, ","), "--initial-advertise-peer-urls", peer, "--listen-peer-urls", peer,
			"--advertise-client-urls", client, "--listen-client-urls", client, "--heartbeat-interval", "50", "--election-timeout", "500")
		cmd.Stdout, cmd.Stderr = &logs[i], &logs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.members, c.endpoints = append(c.members, cmd), append(c.endpoints, client)
		t.Cleanup(func() {
			_ = c.members[i].Process.Kill() // it may be dead already
			_ = c.members[i].Wait()
			if t.Failed() && testing.Verbose() {
				t.Logf("etcd %d:\n%s", i, logs[i].String())
			}
		})
	}
	c.gatherCertificates(t, dir)
	return c
}

// gatherCertificates waits until each member made its certificate, and puts them into one file.
func (c *etcd) gatherCertificates(t *testing.T, dir string) {
	t.Helper()
	var all []byte
	for i := range c.members {
		var pem []byte
		for end := time.Now().Add(30 * time.Second); len(pem) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("etcd %d made no certificate", i)
			}
			var err error
			if pem, err = os.ReadFile(filepath.Join(dir, fmt.Sprint("m", i), "fixtures/client/cert.pem")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		all = append(all, pem...)
	}
	if err := os.WriteFile(c.ca, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kill ends a member as a broken machine does.
func (c *etcd) kill(t *testing.T, i int) {
	t.Helper()
	if err := c.members[i].Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// returns has a member that was killed come back with what it had.
func (c *etcd) returns(t *testing.T, i int) {
	t.Helper()
	old := c.members[i]
	_ = old.Wait() // it was killed
	cmd := exec.Command(old.Path, old.Args[1:]...)
	cmd.Stdout, cmd.Stderr = old.Stdout, old.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.members[i] = cmd
}

func (c *etcd) config() *daemon.Config {
	return &daemon.Config{Etcd: c.endpoints, EtcdCA: c.ca, EtcdPrefix: "/gofabric/"}
}

func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
