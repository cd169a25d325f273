//go:build linux

package veth

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// OtherEnd is the second interface of a host that has both ends of a veth pair.
const OtherEnd = "eth8"

// insideVar is set in a test process that runs in a host.
const insideVar = "GOFABRIC_CABLE_HOST"

// Circle makes a host with both ends of a veth pair. OtherEnd has 10.net.0.1, which is V4, and End has 10.net.0.2.
// Packets between the two addresses leave by the one interface and arrive by the other, so that one process can be
// both sides of a test. All other traffic is unchanged.
func Circle(t testing.TB, net int) *Host {
	t.Helper()
	h := NewHost(t)
	lay(t, h, OtherEnd, h, End, Options{})
	both := [2]string{OtherEnd, End}
	var addr [2]string
	var commands []string
	for i, dev := range both {
		addr[i] = fmt.Sprintf("10.%d.0.%d", net, i+1)
		h.Set("net/ipv4/conf/"+dev+"/accept_local", "1") // packets from one of the host's own addresses
		h.Set("net/ipv4/conf/"+dev+"/rp_filter", "0")
		h.Set("net/ipv4/conf/"+dev+"/arp_ignore", "1")
		commands = append(commands, fmt.Sprintf("link set %s up", dev),
			fmt.Sprintf("addr add %s/32 dev %s", addr[i], dev))
	}
	h.Set("net/ipv4/conf/all/rp_filter", "0")
	h.Set("net/ipv4/icmp_ratelimit", "0") // refusals must arrive as fast as on lo, which has no limit
	h.V4 = netip.MustParseAddr(addr[0])
	// The table of local addresses comes first for packets that have arrived, and last for packets from one end to the
	// other.
	for i, dev := range both {
		commands = append(commands, "rule add pref 1 iif "+dev+" lookup local",
			fmt.Sprintf("rule add pref 2 from %s to %s lookup 100", addr[i], addr[1-i]),
			fmt.Sprintf("route add %s/32 dev %s src %s table 100", addr[1-i], dev, addr[i]))
	}
	h.Batch(append(commands, "rule add pref 3 lookup local", "rule del pref 0")...)
	return h
}

// Inside reports whether this process was started by Rerun.
func Inside() bool { return os.Getenv(insideVar) != "" }

// Rerun runs the test again, in a process whose threads are all in the host. The test gets the result of that process.
func (h *Host) Rerun(t *testing.T) {
	t.Helper()
	cmd := h.Command("/proc/self/fd/3", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$",
		"-test.v="+fmt.Sprint(testing.Verbose()),
		"-test.short="+fmt.Sprint(testing.Short()), "-test.timeout=8m")
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), insideVar+"="+h.Name)
	out, err := cmd.CombinedOutput()
	if len(out) > 0 {
		t.Logf("in %s:\n%s", h.Name, out)
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	if err != nil {
		t.Fail()
	}
}
