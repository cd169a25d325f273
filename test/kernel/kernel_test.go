//go:build linux && amd64

package kernel

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/test/kernel/plan"
	"gofabric/test/need"
)

// long is the time limit of the machine. QEMU interprets instructions, so the tests take a minute or two.
const long = 12 * time.Minute

// A job is the tests of a package that run in the machine.
type job struct {
	pkg  string
	run  string   // which tests of the package
	pass []string // tests that must pass without skipped parts
}

var jobs = []job{
	{"internal/neigh", "VLAN|Neighbour|Gateway|LinkLocal|Unprivileged", []string{"TestVLAN", "TestNeighbour"}},
	{"internal/xdp", "VLAN|Program|Runs|ToSocket/.*/(1500|3490)|OtherPro|DownAndGone|WithoutPrivilege|Reasons|PacketSocket|BusyPoll", []string{"TestVLAN", "TestToSocket", "TestReasons", "TestOtherProcess", "TestDownAndGone", "TestPacketSocket", "TestBusyPoll", "TestProgram", "TestProgramRuns", "TestRuns"}},
	{"test/netns", "XDPVLAN|XDPStacks/.*true.true.*9000|RXDLoss",
		[]string{"TestRXDLoss", "TestXDPVLAN", "TestXDPVLANSeparate", "TestXDPVLANFirst", "TestXDPVLANNative",
			"TestXDPVLANMoved", "TestXDPVLANRemoved", "TestXDPStacks"}},
}

// modules are the modules that the tests need directly.
var modules = []string{"veth", "8021q", "tun", "dummy", "sch_netem"}

// tools are programs that tests call.
var tools = []string{"sh", "cat", "echo", "timeout", "sleep", "ip", "ss", "tc", "ethtool", "setpriv", "fi_pingpong"}

// TestOtherKernel runs tests that need VLAN devices, or an older kernel.
func TestOtherKernel(t *testing.T) {
	need.Asked(t, "it takes two minutes")
	vmlinuz, tree := findKernel(t)
	need.Programs(t, "qemu-system-x86", "qemu-system-x86_64")
	t.Logf("kernel %s", filepath.Base(vmlinuz))
	if pkg, run, ok := strings.Cut(os.Getenv("GOFABRIC_KERNEL_ONLY"), "="); ok {
		jobs = []job{{pkg, run, nil}}
	}
	a := newArchive(t)
	var loads [][]string
	for _, file := range modulePaths(t, tree) {
		inside := "/lib/modules/" + filepath.Base(file)
		a.copy(inside, file)
		loads = append(loads, []string{inside})
	}
	a.text(plan.Modules, plan.Write(loads))
	for _, tool := range tools {
		a.tool(tool)
	}
	a.program("/init", "./test/kernel/guest")
	a.program("/bin/ofi", "./cmd/ofi")
	var commands [][]string
	for _, j := range jobs {
		a.tests(j.pkg)
		commands = append(commands, []string{"/" + j.pkg, "/" + j.pkg + "/tests", "-test.v", "-test.timeout", "8m",
			"-test.parallel", "1", "-test.run", j.run})
	}
	a.text(plan.Commands, plan.Write(commands))
	said := boot(t, vmlinuz, a.close())
	for i, j := range jobs {
		t.Run(j.pkg, func(t *testing.T) { judge(t, j, said[i]) })
	}
}

// said is the result of a command.
type said struct {
	lines  []string
	result string // "ok", an error, or empty if it did not end
}

// judge fails the test if the job failed.
func judge(t *testing.T, j job, s said) {
	all := strings.Join(s.lines, "\n")
	if s.result != "ok" {
		t.Errorf("%q:\n%s", s.result, all)
		return
	}
	for _, name := range j.pass {
		if !strings.Contains(all, "--- PASS: "+name+" ") {
			t.Errorf("%s did not run:\n%s", name, all)
		}
		if strings.Contains(all, "--- SKIP: "+name+"/") { // a test passes even if its parts are skipped
			t.Errorf("a part of %s did not run:\n%s", name, all)
		}
	}
	t.Logf("%d tests passed, %d were skipped", strings.Count(all, "--- PASS: "), strings.Count(all, "--- SKIP: "))
}

// boot runs the machine until it switches itself off, and returns the results of the commands.
func boot(t *testing.T, vmlinuz, archive string) []said {
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
		"-m", "3072", "-nodefaults", "-nographic",
		"-serial", "stdio", "-no-reboot", "-kernel", vmlinuz, "-initrd", archive,
		"-append", "console=ttyS0 quiet panic=-1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	results := make([]said, len(jobs))
	at := 0
	var loose []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimRight(lines.Text(), "\r")
		rest, done := strings.CutPrefix(line, plan.Done+" ")
		switch {
		case strings.HasPrefix(line, plan.Broken):
			t.Error(line)
		case done && at < len(results):
			_, results[at].result, _ = strings.Cut(rest, " ")
			at++
		case at < len(results):
			results[at].lines = append(results[at].lines, line)
		default:
			loose = append(loose, line)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v, %v\n%s\n%s", err, ctx.Err(), &complaints, strings.Join(loose, "\n"))
	}
	return results
}

// findKernel returns the kernel and the folder of its modules.
func findKernel(t *testing.T) (vmlinuz, tree string) {
	root := os.Getenv("GOFABRIC_KERNEL")
	kernels, err := filepath.Glob(filepath.Join("/", root, "boot/vmlinuz-*"))
	if err != nil || len(kernels) == 0 {
		need.Missing(t, "there is no kernel in %s: set GOFABRIC_KERNEL to a folder with one, see go doc gofabric/test/kernel", filepath.Join("/", root, "boot"))
	}
	vmlinuz = kernels[len(kernels)-1]
	version := strings.TrimPrefix(filepath.Base(vmlinuz), "vmlinuz-")
	return vmlinuz, filepath.Join("/", root, "lib/modules", version)
}
