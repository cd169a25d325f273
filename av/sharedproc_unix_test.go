//go:build unix

package av

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/program"
)

// This file tests shared vectors and processes that die. The test binary runs itself as the other process. TestMain
// recognizes that process by an environment variable.

const procVar = "GOFABRIC_TEST_SHARED_AV"

func TestMain(m *testing.M) {
	if root := os.Getenv(procVar); root != "" {
		otherProcess(root)
		return
	}
	os.Exit(m.Run())
}

// otherProcess opens the vector and executes the commands of its input. It answers each line with a line.
func otherProcess(root string) {
	av, err := newShared(root, core.AVAttr{Name: "test"}, "scope", core.FormatSockaddrIP, nil)
	fmt.Println("open", err)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch word, arg, _ := strings.Cut(in.Text(), " "); word {
		case "insert":
			var fi [1]core.FIAddr
			_, err := av.Insert([]core.Addr{addr(arg)}, fi[:], 0)
			fmt.Println("inserted", fi[0], err)
		case "half": // starts a change and does not finish it
			var st state
			err := av.shared.enter(&st, time.Second)
			av.pull(&st)
			av.shared.begin(&st)
			i, _, _ := av.store(addr(arg).IP, nil)
			av.push(i, &st)
			fmt.Println("half", err)
		case "lookup":
			a, err := av.Lookup(0)
			fmt.Println(a.IP, err)
		}
	}
}

// process is the other process, as the test sees it.
type process struct {
	*program.Program
	t *testing.T
}

func start(t *testing.T, root string) process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), procVar+"="+root)
	p := process{program.Talk(t, cmd), t}
	p.want("open <nil>")
	return p
}

func (p process) do(act, want string) {
	p.t.Helper()
	p.Tell(act)
	p.want(want)
}

func (p process) want(want string) {
	p.t.Helper()
	if said := p.Line(); said != want {
		p.t.Fatalf("the other process said %q, want %q", said, want)
	}
}

// TestSharedCreatorDies: the process that made the vector dies, while idle and in the middle of a change.
func TestSharedCreatorDies(t *testing.T) {
	root := t.TempDir()
	p := start(t, root)
	p.do("insert 10.0.0.1:1", "inserted 0 <nil>")
	av := join(t, root, 0)
	reader := join(t, root, core.AVRead)
	insert(t, av, "10.0.0.2:1")
	if a, err := av.Lookup(0); err != nil || a != addr("10.0.0.1:1") {
		t.Error(a, err)
	}
	p.do("half 10.0.0.3:1", "half <nil>")
	p.Kill()
	if fi := insert(t, av, "10.0.0.4:1"); fi != 2 {
		t.Errorf("the next address got index %d; the unfinished insertion must not count", fi)
	}
	for fi, want := range []string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.4:1"} {
		for _, e := range []*Table{av, reader} {
			e.Follow()
			if a, err := e.Lookup(core.FIAddr(fi)); err != nil || a != addr(want) {
				t.Errorf("%d: %v, %v; want %s", fi, a.IP, err, want)
			}
		}
	}
	q := start(t, root)
	q.do("lookup", "10.0.0.1:1 <nil>")
	av.Close()
	reader.Close()
	q.do("lookup", "10.0.0.1:1 <nil>")
	q.Kill()
	// All processes are gone. The name starts with an empty vector, and the files of another dead vector are removed.
	if err := os.WriteFile(files(t, root)[0]+"00", []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := join(t, root, 0)
	if fresh.Len() != 0 {
		t.Error("a vector that all have left still has addresses")
	}
	fresh.Close()
	if left := files(t, root); len(left) != 0 {
		t.Error(left)
	}
}

// TestSharedHolderStops stops a process that holds the lock. No process waits for it for ever, and look-ups hardly
// wait at all.
func TestSharedHolderStops(t *testing.T) {
	root := t.TempDir()
	av := join(t, root, 0)
	defer av.Close()
	insert(t, av, "10.0.0.1:1")
	p := start(t, root)
	p.do("half 10.0.0.3:1", "half <nil>") // it is alive, and holds the lock
	begin := time.Now()
	if a, err := av.Lookup(0); err != nil || a != addr("10.0.0.1:1") {
		t.Error(a, err)
	}
	if _, err := av.Lookup(1); err == nil {
		t.Error("half an insertion is visible")
	}
	if d := time.Since(begin); d >= lockWait {
		t.Error("look-ups took", d)
	}
	done := make(chan error, 1)
	go func() {
		_, err := av.Insert([]core.Addr{addr("10.0.0.5:1")}, nil, 0)
		done <- err
	}()
	p.Kill()
	if err := <-done; err != nil {
		t.Error("the kernel did not release the lock:", err)
	}
}
