//go:build !fabricbasic

// Properties of interfaces that Linux reports.

package netx

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sysfs reads the kernel's directories about interfaces, one for each (Documentation/ABI/testing/sysfs-class-net).
type sysfs struct {
	root   string                   // /sys/class/net
	driver func(name string) string // for virtual interfaces, which have no driver in sysfs
}

func systemTraits(ifi *net.Interface) traits {
	return sysfs{"/sys/class/net", ethtoolDriver}.traits(ifi)
}

func (s sysfs) traits(ifi *net.Interface) traits {
	t := traits{driver: s.hardwareDriver(ifi.Name)}
	hardware := t.driver != ""
	if !hardware {
		t.driver = s.driver(ifi.Name)
	}
	// Without a carrier the kernel reports -1 or fails. For half of the virtual interfaces it always does.
	if n, err := strconv.Atoi(s.read(ifi.Name, "speed")); err == nil && n > 0 {
		t.speed = n
	}
	t.kind = s.kind(ifi, t.driver, hardware)
	return t
}

func (s sysfs) kind(ifi *net.Interface, driver string, hardware bool) IfaceKind {
	devtype := s.devtype(ifi.Name)
	switch {
	case ifi.Flags&net.FlagLoopback != 0:
		return KindLoopback
	case devtype == "bridge" || driver == "bridge" || s.exists(ifi.Name, "bridge"):
		if isDockerName(ifi.Name) {
			return KindDocker
		}
		return KindBridge
	case driver == "veth":
		return KindVeth
	case ifi.Flags&net.FlagPointToPoint != 0, devtype == "wireguard", devtype == "ppp":
		return KindPointToPoint
	case !hardware && devtype == "" && driver == "":
		// An old kernel, or the /sys of another namespace.
		return kindByName(ifi)
	case s.read(ifi.Name, "type") != strconv.Itoa(unix.ARPHRD_ETHER):
		return KindOther
	case hardware, devtype == "bond", devtype == "team", devtype == "vlan", devtype == "macvlan", devtype == "ipvlan", devtype == "wlan":
		return KindEthernet
	}
	return KindOther
}

// hardwareDriver returns the name of the driver bound to the device, "" for a virtual interface.
func (s sysfs) hardwareDriver(name string) string {
	link, err := os.Readlink(filepath.Join(s.root, name, "device", "driver"))
	if err != nil {
		return ""
	}
	return filepath.Base(link)
}

// devtype returns the kernel's name for the kind of a virtual interface, "" if it has none.
func (s sysfs) devtype(name string) string {
	for line := range strings.Lines(s.read(name, "uevent")) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVTYPE="); ok {
			return v
		}
	}
	return ""
}

func (s sysfs) exists(name, file string) bool {
	_, err := os.Stat(filepath.Join(s.root, name, file))
	return err == nil
}

func (s sysfs) read(name, file string) string {
	b, err := os.ReadFile(filepath.Join(s.root, name, file))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// ethtoolDriver asks the interface itself (ETHTOOL_GDRVINFO). A veth, bridge, tun or dummy interface answers with
// its kind.
func ethtoolDriver(name string) string {
	fd, err := DatagramSocket(unix.AF_INET)
	if err != nil {
		return ""
	}
	defer Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(int(fd), name)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Driver[:])
}
