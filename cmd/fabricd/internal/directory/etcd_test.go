package directory

import (
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/test/need"
	"gofabric/test/program"
)

// etcd is a cluster of three members on loopback.
type etcd struct {
	endpoints []string
	ca        string
	members   []*program.Program
}

// startEtcd starts a cluster that ends with the test, and waits until it is up.
func startEtcd(t *testing.T) *etcd {
	t.Helper()
	path := need.Programs(t, "etcd-server", "etcd")
	dir := t.TempDir()
	c := &etcd{ca: filepath.Join(dir, "ca.pem")}
	addresses := program.FreeAddresses(t, 6)
	var initial []string
	for i := range 3 {
		initial = append(initial, fmt.Sprintf("m%d=http://%s", i, addresses[2*i]))
	}
	for i := range 3 {
		peer, client := "http://"+addresses[2*i], "https://"+addresses[2*i+1]
		cmd := exec.Command(path, "--name", fmt.Sprint("m", i), "--data-dir", filepath.Join(dir, fmt.Sprint("m", i)), "--auto-tls", "--logger", "zap",
			"--initial-cluster", strings.Join(initial, ","), "--initial-advertise-peer-urls", peer, "--listen-peer-urls", peer,
			"--advertise-client-urls", client, "--listen-client-urls", client, "--heartbeat-interval", "50", "--election-timeout", "500")
		c.members, c.endpoints = append(c.members, startMember(t, cmd)), append(c.endpoints, client)
	}
	c.gatherCertificates(t, dir)
	c.untilUp()
	return c
}

// up is a text that a member logs when it has a leader and serves clients.
const up = "serving client traffic securely"

// untilUp waits until every started member is up.
func (c *etcd) untilUp() {
	for _, m := range c.members {
		m.Expect(up)
	}
}

// startMember starts a member. Its log is shown only if the caller asks for all logs.
func startMember(t *testing.T, cmd *exec.Cmd) *program.Program {
	t.Helper()
	m := program.Start(t, cmd)
	if !testing.Verbose() {
		m.Mute()
	}
	return m
}

// gatherCertificates waits until each member has made its certificate, and puts them into one file.
func (c *etcd) gatherCertificates(t *testing.T, dir string) {
	t.Helper()
	var all []byte
	for i, m := range c.members {
		var cert []byte
		m.Until("the member writes its certificate", func() bool {
			var err error
			if cert, err = os.ReadFile(filepath.Join(dir, fmt.Sprint("m", i), "fixtures/client/cert.pem")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			whole, _ := pem.Decode(cert) // the member writes it line by line
			return whole != nil
		})
		all = append(all, cert...)
	}
	if err := os.WriteFile(c.ca, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kill ends a member like a failure of its machine.
func (c *etcd) kill(i int) { c.members[i].Kill() }

// forget removes the data of a killed member, but not its certificate.
func (c *etcd) forget(t *testing.T, i int) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(filepath.Dir(c.ca), fmt.Sprint("m", i), "member")); err != nil {
		t.Fatal(err)
	}
}

// returns starts a killed member again with its data.
func (c *etcd) returns(t *testing.T, i int) {
	t.Helper()
	old := c.members[i].Cmd
	c.members[i] = startMember(t, exec.Command(old.Path, old.Args[1:]...))
}

func (c *etcd) config() *daemon.Config {
	return &daemon.Config{Etcd: c.endpoints, EtcdCA: c.ca, EtcdPrefix: "/gofabric/"}
}
