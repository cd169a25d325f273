//go:build !fabricbasic

package netx

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gofabric/test/need"
)

// fakeSysfs builds a tree like the kernel's, from file name to content. "driver" is the link to the driver of a
// hardware device, and "bridge" a directory.
func fakeSysfs(t *testing.T, ifaces map[string]map[string]string) string {
	root := t.TempDir()
	for name, files := range ifaces {
		dir := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Join(dir, "device"), 0o755))
		for file, content := range files {
			switch file {
			case "driver":
				must(t, os.Symlink("../../../../bus/pci/drivers/"+content, filepath.Join(dir, "device", "driver")))
			case "bridge":
				must(t, os.Mkdir(filepath.Join(dir, "bridge"), 0o755))
			default:
				must(t, os.WriteFile(filepath.Join(dir, file), []byte(content+"\n"), 0o644))
			}
		}
	}
	return root
}

func TestTraitsFromSysfs(t *testing.T) {
	root := fakeSysfs(t, map[string]map[string]string{
		"eth0":            {"type": "1", "speed": "100000", "driver": "mlx5_core", "uevent": "INTERFACE=eth0"},
		"eth1":            {"type": "1", "speed": "-1", "driver": "virtio_net"},
		"eth2":            {"type": "1", "speed": "10000"},
		"wl0":             {"type": "1", "driver": "iwlwifi", "uevent": "DEVTYPE=wlan\nINTERFACE=wl0"},
		"bond0":           {"type": "1", "speed": "50000", "uevent": "DEVTYPE=bond"},
		"vlan5":           {"type": "1", "speed": "1000", "uevent": "DEVTYPE=vlan"},
		"ib0":             {"type": "32", "speed": "200000", "driver": "mlx5_core"},
		"lo":              {"type": "772"},
		"br0":             {"type": "1", "speed": "10000", "uevent": "DEVTYPE=bridge", "bridge": ""},
		"br1":             {"type": "1", "bridge": ""},
		"docker0":         {"type": "1", "speed": "10000", "uevent": "DEVTYPE=bridge"},
		"br-0123456789ab": {"type": "1", "uevent": "DEVTYPE=bridge"},
		"tun0":            {"type": "65534", "speed": "10000"},
		"tap0":            {"type": "1", "speed": "10000"},
		"wg0":             {"type": "65534", "uevent": "DEVTYPE=wireguard"},
		"dummy0":          {"type": "1"},
		"junk0":           {"type": "one", "speed": "fast", "uevent": "DEVTYPE", "driver": "junk"},
	})
	drivers := map[string]string{"eth2": "veth", "br1": "bridge", "tun0": "tun", "tap0": "tun", "dummy0": "dummy",
		"wg0": "wireguard"}
	s := sysfs{root, func(name string) string { return drivers[name] }}
	for name, want := range map[string]traits{
		"eth0": {KindEthernet, 100000, "mlx5_core"}, "eth1": {KindEthernet, 0, "virtio_net"},
		"eth2": {KindVeth, 10000, "veth"},
		"wl0":  {KindEthernet, 0, "iwlwifi"}, "bond0": {KindEthernet, 50000, ""}, "vlan5": {KindEthernet, 1000, ""},
		"ib0": {KindOther, 200000, "mlx5_core"},
		"lo":  {KindLoopback, 0, ""}, "br0": {KindBridge, 10000, ""}, "br1": {KindBridge, 0, "bridge"},
		"docker0":         {KindDocker, 10000, ""},
		"br-0123456789ab": {KindDocker, 0, ""}, "tun0": {KindPointToPoint, 10000, "tun"},
		"tap0": {KindOther, 10000, "tun"},
		"wg0":  {KindPointToPoint, 0, "wireguard"}, "dummy0": {KindOther, 0, "dummy"}, "junk0": {KindOther, 0, "junk"},
		"gone0": {KindOther, 0, ""}, "veth7": {KindVeth, 0, ""}, // nothing in sysfs, so the name decides
	} {
		flags := map[string]net.Flags{"lo": net.FlagLoopback, "tun0": net.FlagPointToPoint}[name]
		if got := s.traits(&net.Interface{Name: name, Flags: flags}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

const inNamespace = "NETX_TEST_IN_NAMESPACE"

// TestInterfacesInNamespace reads real interfaces of every kind that can be made, in a network namespace of its
// own.
func TestInterfacesInNamespace(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		checkNamespace(t)
		return
	}
	need.Root(t, "making a network namespace")
	need.Programs(t, "iproute2", "ip")
	ns := "netx" + strconv.Itoa(os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
		need.Missing(t, "network namespaces cannot be made here: %s", out)
	}
	defer exec.Command("ip", "netns", "del", ns).Run()
	for _, args := range []string{
		"link set lo up",
		"link add eth7 type veth peer name other", "addr add 10.7.0.1/24 dev eth7",
		"addr add fd07::1/64 dev eth7 nodad", "link set eth7 mtu 1400 up", "link set other up",
		"link add sw0 type bridge", "addr add 10.8.0.1/16 dev sw0", "link set sw0 up", "link add docker0 type bridge",
		"addr add 172.17.0.1/16 dev docker0", "link set docker0 up", "tuntap add vpn mode tun",
		"addr add 10.9.0.1/32 dev vpn", "link set vpn up", "link add down0 type bridge",
		"addr add 10.10.0.1/16 dev down0",
	} {
		if out, err := exec.Command("ip",
			append([]string{"-n", ns}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			need.Missing(t, "ip %s: %s", args, out)
		}
	}
	cmd := exec.Command("ip", "netns", "exec", ns, os.Args[0], "-test.run=^TestInterfacesInNamespace$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Fatalf("inside: %v\n%s", err, out)
	}
}

func checkNamespace(t *testing.T) {
	list, err := Interfaces()
	must(t, err)
	RankInterfaces(list)
	want := map[string]struct {
		kind   IfaceKind
		driver string
		mtu    int
		up     bool // true must be seen; the time in which the kernel notices that a bridge has no carrier is not fixed
	}{
		"10.7.0.1":   {KindVeth, "veth", 1400, true},
		"fd07::1":    {KindVeth, "veth", 1400, true},
		"10.8.0.1":   {KindBridge, "bridge", 1500, false},
		"172.17.0.1": {KindDocker, "bridge", 1500, false},
		"10.9.0.1":   {KindPointToPoint, "tun", 1500, false},
		"127.0.0.1":  {KindLoopback, "", 65536, true},
	}
	var order []string
	for _, i := range list {
		w, ok := want[i.Addr.String()]
		if !ok {
			if !i.Addr.IsLinkLocalUnicast() && !i.Addr.IsLoopback() {
				t.Errorf("unexpected: %+v", i)
			}
			continue
		}
		order = append(order, i.Addr.String())
		if i.Kind != w.kind || i.Driver != w.driver || i.MTU != w.mtu || w.up && !i.Up {
			t.Errorf("%v: %v driver %q mtu %d up %v, want %+v", i.Addr, i.Kind, i.Driver, i.MTU, i.Up, w)
		}
	}
	if got := strings.Join(order, " "); got != "10.7.0.1 fd07::1 10.8.0.1 172.17.0.1 10.9.0.1 127.0.0.1" {
		t.Errorf("order: %s", got)
	}
}
