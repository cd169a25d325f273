package pull

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// payload is what the child lends.
func payload() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 1000) }

// TestMain also is the child of TestOtherProcess: it says where its memory is and waits for the end of its input.
func TestMain(m *testing.M) {
	if os.Getenv("GOFABRIC_PULL_CHILD") == "" {
		os.Exit(m.Run())
	}
	mem := payload()
	os.Stdout.WriteString(strconv.FormatUint(Puller{}.Address(mem), 10) + "\n")
	os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(mem)
}

func puller(t *testing.T) Puller {
	t.Helper()
	if New() == nil {
		if runtime.GOOS == "linux" {
			t.Fatal("this process could not find out who it is (/proc): nothing would be copied from other processes")
		}
		t.Skip("only Linux copies from other processes")
	}
	return Puller{}
}

func TestOwnMemory(t *testing.T) {
	p := puller(t)
	src, dst := payload(), make([]byte, 100)
	seal := [engine.SealLen]byte(src[32:48])
	at := func(b []byte) uint64 { return p.Address(b) }
	remote := []wire.RMAIov{{Addr: at(src[5:]), Len: 60}, {Addr: at(src[500:]), Len: 40}}
	if !p.Pull(uint32(os.Getpid()), &seal, at(src[32:]), remote, [][]byte{dst[:10], dst[10:]}) {
		t.Fatal("reading this process' own memory failed")
	}
	if want := string(src[5:65]) + string(src[500:540]); string(dst) != want {
		t.Errorf("%q, want %q", dst, want)
	}
	clear(dst)
	seal[0]++
	if p.Pull(uint32(os.Getpid()), &seal, at(src[32:]), remote, [][]byte{dst}) {
		t.Error("the wrong seal was taken")
	}
	seal[0]--
	if p.Pull(uint32(os.Getpid()), &seal, at(src[32:]), []wire.RMAIov{{Addr: 8, Len: 100}}, [][]byte{dst}) {
		t.Error("memory that is not there was read")
	}
	if p.Pull(1<<30, &seal, at(src[32:]), remote, [][]byte{dst}) {
		t.Error("a process that is not there was read")
	}
}

func TestOtherProcess(t *testing.T) {
	p := puller(t)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "GOFABRIC_PULL_CHILD=1")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer in.Close()
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	at, err := strconv.ParseUint(string(bytes.TrimSpace(line[:n])), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	want := payload()
	dst := make([]byte, len(want)-engine.SealLen)
	seal := [engine.SealLen]byte(want)
	remote := []wire.RMAIov{{Addr: at + engine.SealLen, Len: uint64(len(dst))}}
	if !p.Pull(uint32(c.Process.Pid), &seal, at, remote, [][]byte{dst}) {
		forbidden(t, c.Process.Pid, at) // or else it is this package that cannot
	}
	if !bytes.Equal(dst, want[engine.SealLen:]) {
		t.Error("wrong content")
	}
}

func TestNoAlloc(t *testing.T) {
	p := puller(t)
	src, dst := payload(), make([]byte, 100)
	seal := [engine.SealLen]byte(src)
	pid := uint32(os.Getpid())
	remote, local := []wire.RMAIov{{Addr: p.Address(src), Len: 100}}, [][]byte{dst}
	if n := testing.AllocsPerRun(100, func() { p.Pull(pid, &seal, p.Address(src), remote, local) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
