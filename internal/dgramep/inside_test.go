package dgramep_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"gofabric/test/need"
	"gofabric/test/wait"
)

const insideVar = "DGEP_TEST_INSIDE"

// inside runs the test again in a network namespace of its own, with an interface at fd07::1 without a peer. It
// returns true inside the namespace. It returns false outside, after the test has passed inside.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVar) != "" {
		return true
	}
	need.Root(t, "making a network namespace")
	need.Programs(t, "iproute2", "ip")
	ns := "dgramep" + strconv.Itoa(os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
		need.Missing(t, "network namespaces cannot be made here: %s", out)
	}
	defer exec.Command("ip", "netns", "del", ns).Run()
	for _, args := range []string{"link set lo up", "link add eth7 type veth peer name other",
		"addr add fd07::1/64 dev eth7 nodad", "link set eth7 up", "link set other up"} {
		if out, err := exec.Command("ip",
			append([]string{"-n", ns}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			need.Missing(t, "ip %s: %s", args, out)
		}
	}
	// The route to groups appears some time after the system has noticed the carrier.
	wait.Until(t, "a route to groups", func() bool { return exec.Command("ip", "-n", ns, "route", "get", "ff15::7").Run() == nil })
	cmd := exec.Command("ip", "netns", "exec", ns, os.Args[0],
		"-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideVar+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("inside: %v\n%s", err, out)
	}
	return false
}
