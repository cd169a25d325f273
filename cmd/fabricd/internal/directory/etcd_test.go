package directory

import (
	"bytes"
	"context"
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
	"gofabric/internal/fabricd/api"
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
	path, err := exec.LookPath("etcd")
	if err != nil {
		if os.Getenv("GOFABRIC_PEERS") == "required" {
			t.Fatal("etcd is missing: install Debian's etcd-server")
		}
		t.Skip("no etcd: install Debian's etcd-server")
	}
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
			_ = cmd.Process.Kill() // it may be dead already
			_ = cmd.Wait()
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

// TestMemberKilled: names go in and out, watches and fences go on, while one of three members dies; each in its turn, the leader among them or not.
func TestMemberKilled(t *testing.T) {
	t.Parallel()
	c := startEtcd(t)
	n1, n2 := startNode(t, c.config()), startNode(t, c.config())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	alice1, alice2 := n1.as(1000), n2.as(1000)
	seen := make(chan string, 1000)
	go alice2.watch(ctx, "job/", seen)
	<-seen // alive
	for i := range 60 {
		if i == 20 {
			c.kill(t, 0)
		}
		name := fmt.Sprint("job/", i)
		alice1.mustPut(ctx, t, name, fmt.Sprint("10.0.0.1:", i), "1m")
		if got := alice2.mustGet(ctx, t, name); got.Address != fmt.Sprint("10.0.0.1:", i) || got.Owner != 1000 {
			t.Fatalf("the other node sees %+v", got)
		}
	}
	for i := range 60 {
		select {
		case got := <-seen:
			if want := fmt.Sprint("put job/", i); got != want {
				t.Fatalf("the other node's watch says %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatal("the other node's watch says nothing more")
		}
	}
	fenceAll(ctx, t, 8, 3, alice1, alice2)
	if os.Getenv("GOFABRIC_MANY") == "" {
		return
	}
	c.kill(t, 1) // one is no majority
	begin := time.Now()
	err := alice1.send(ctx, "PUT", api.NamePath("job/0"), api.Registration{Address: "10.0.0.1:1"}, nil)
	if took := time.Since(begin); status(err) != 503 || took > 2*requestTime {
		t.Errorf("without a majority: %v after %v", err, took)
	}
}
