package cma

import (
	"os"
	"strconv"
	"strings"

	"gofabric/internal/xnet/engine"
)

// hostIdentity sets the parts of the identity that two processes have in common if they can read each other's
// memory: the boot of the kernel, and the PID namespace, in which PIDs have a meaning.
func hostIdentity(id *engine.Identity) bool {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return false
	}
	hex := strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
	if len(hex) != 2*len(id.Host) {
		return false
	}
	for i := range id.Host {
		b, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			return false
		}
		id.Host[i] = byte(b)
	}
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return false
	}
	num := strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
	id.PIDNS, err = strconv.ParseUint(num, 10, 64)
	return err == nil
}
