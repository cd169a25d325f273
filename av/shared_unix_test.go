//go:build unix

package av

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gofabric/core"
	"gofabric/test/journal"
	"gofabric/test/need"
	"pgregory.net/rapid"
)

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(...any)
}

// join opens the shared vector of the test.
func join(t fataler, root string, flags core.AVFlags) *Table {
	t.Helper()
	av, err := newShared(root, core.AVAttr{Name: "test", Flags: flags}, "scope", core.FormatSockaddrIP, nil)
	if err != nil {
		t.Fatal(err)
	}
	return av
}

// files lists the files in the user's directory.
func files(t testing.TB, root string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "gofabric-"+strconv.Itoa(os.Geteuid()), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSharedAttr(t *testing.T) {
	root := t.TempDir()
	open := func(attr core.AVAttr, format core.AddrFormat) error {
		av, err := newShared(root, attr, "scope", format, nil)
		if err == nil {
			err = av.Close()
		}
		return err
	}
	if err := open(core.AVAttr{Name: "x", Flags: core.AVRead}, 0); !errors.Is(err, core.ErrNoEnt) {
		t.Error("read-only open of a vector that does not exist:", err)
	}
	if len(files(t, root)) != 0 {
		t.Error("a reader made files")
	}
	for _, attr := range []core.AVAttr{{}, {Name: strings.Repeat("x", 4097)}, {Name: "x", Flags: 1 << 11}} {
		if err := open(attr, 0); !errors.Is(err, core.ErrInval) {
			t.Error(err)
		}
	}
	av, err := newShared(root, core.AVAttr{Name: "x", MapAddr: 77}, "scope", core.FormatSockaddrIn, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := newShared(root, core.AVAttr{Name: "x"}, "scope", core.FormatSockaddrIn, nil)
	if err != nil || second.Attr().MapAddr != 77 {
		t.Fatal(err, second.Attr().MapAddr)
	}
	if err := open(core.AVAttr{Name: "x"}, core.FormatSockaddrIn6); !errors.Is(err, core.ErrInval) {
		t.Error("another format:", err)
	}
	other, err := newShared(root, core.AVAttr{Name: "x"}, "another scope", core.FormatSockaddrIn, nil)
	if err != nil || other.Attr().MapAddr == 0 || other.Attr().MapAddr == 77 {
		t.Fatal(err, other.Attr())
	}
	insert(t, av, "10.0.0.1:1")
	if _, err := other.Lookup(0); err == nil {
		t.Error("another scope's address")
	}
	if err := errors.Join(av.Close(), second.Close(), other.Close()); err != nil || len(files(t, root)) != 0 {
		t.Error("after the last process has closed it:", err, files(t, root))
	}
}

func TestSharedFollows(t *testing.T) {
	root := t.TempDir()
	a, b := join(t, root, 0), join(t, root, core.AVRead)
	defer b.Close()
	defer a.Close()
	var got []string
	b.OnInsert(func(fi core.FIAddr, a core.Addr) { got = append(got, fmt.Sprint("+", fi, " ", a.IP)) })
	b.OnRemove(func(fi core.FIAddr) { got = append(got, fmt.Sprint("-", fi)) })
	want := func(want ...string) {
		t.Helper()
		b.Follow()
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		got = nil
	}
	fi := insert(t, a, "10.0.0.1:1")
	if ap, ok := b.AddrPort(fi); !ok || ap != netip.MustParseAddrPort("10.0.0.1:1") {
		t.Fatal(ap, ok)
	}
	if len(got) != 0 {
		t.Error("a look-up calls subscribers, which need the lock that the caller may hold")
	}
	want("+0 10.0.0.1:1")
	insert(t, a, "[2001:db8::1]:1")
	if r := b.Reverse(addr("[2001:db8::1]:1")); r != 1 {
		t.Error(r)
	}
	if err := a.Remove([]core.FIAddr{0}, 0); err != nil {
		t.Fatal(err)
	}
	want("+1 [2001:db8::1]:1", "-0")
	if _, err := b.Lookup(0); err == nil {
		t.Error("an address that was removed is still there")
	}
	insert(t, a, "10.0.0.2:1")
	insert(t, a, "10.0.0.2:1")
	want("+0 10.0.0.2:1")
	a.Remove([]core.FIAddr{0, 0}, 0)
	insert(t, a, "10.0.0.3:1")
	want("+0 10.0.0.3:1", "-0")
	n, err := b.Insert([]core.Addr{addr("10.0.0.9:1")}, nil, 0)
	if n != 0 || !errors.Is(err, core.ErrAccess) || !errors.Is(b.Remove([]core.FIAddr{0}, 0), core.ErrAccess) {
		t.Error("a reader writes:", n, err)
	}
	for i := range 3 * ringLen { // more than the ring holds
		insert(t, a, "10.1.1.1:"+strconv.Itoa(1+i))
	}
	b.Follow()
	if b.Len() != 2+3*ringLen || len(got) != 3*ringLen {
		t.Error(b.Len(), len(got))
	}
	set, err := b.OpenSet(core.AVSetAttr{Flags: core.AVSetUniverse})
	if err != nil || len(set.Members()) != b.Len() {
		t.Error(err)
	}
	set.Close()
}

// TestSharedModel has several processes' ends of a vector take turns. Each end sees the changes of all.
func TestSharedModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root := t.TempDir()
		ends := []*Table{join(t, root, 0), join(t, root, 0), join(t, root, 0)}
		model, err := New(core.AVAttr{}, core.FormatSockaddrIP, nil)
		if err != nil {
			rt.Fatal(err)
		}
		any := func(t *rapid.T) int { return rapid.IntRange(0, len(ends)-1).Draw(t, "end") }
		pool := []core.Addr{addr("10.0.0.1:1"), addr("10.0.0.2:1"), addr("[fe80::1%lo]:1"), addr("[::ffff:10.0.0.3]:3"),
			addr("10.0.0.3:3"), addr("[2001:db8::1]:9")}
		rt.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				list := rapid.SliceOfN(rapid.SampledFrom(pool), 1, 4).Draw(t, "addrs")
				got, want := make([]core.FIAddr, len(list)), make([]core.FIAddr, len(list))
				n, err := ends[any(t)].Insert(list, got, 0)
				m, _ := model.Insert(list, want, 0)
				if n != m || err != nil || !slices.Equal(got, want) {
					t.Fatal(n, m, err, got, want)
				}
			},
			"remove": func(t *rapid.T) {
				list := []core.FIAddr{core.FIAddr(rapid.IntRange(0, 6).Draw(t, "fi"))}
				if got, want := ends[any(t)].Remove(list, 0), model.Remove(list, 0); (got == nil) != (want == nil) {
					t.Fatal(got, want)
				}
			},
			"reopen": func(t *rapid.T) {
				i := any(t)
				if err := ends[i].Close(); err != nil {
					t.Fatal(err)
				}
				ends[i] = join(t, root, 0)
			},
			"": func(t *rapid.T) {
				e := ends[any(t)]
				e.Follow()
				if e.Len() != model.Len() {
					t.Fatal(e.Len(), model.Len())
				}
				for fi := range core.FIAddr(8) {
					got, err := e.Lookup(fi)
					want, werr := model.Lookup(fi)
					if got != want || (err == nil) != (werr == nil) {
						t.Fatalf("%d: %v, want %v", fi, got, want)
					}
				}
				for _, a := range pool {
					if got, want := e.Reverse(a), model.Reverse(a); got != want {
						t.Fatalf("%v: %d, want %d", a, got, want)
					}
				}
			},
		})
		for _, e := range ends {
			if err := e.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		if left := files(t, root); len(left) != 0 {
			rt.Fatal(left)
		}
	})
}

// TestSharedDamage damages or truncates the file while processes have it open.
func TestSharedDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b []byte) []byte
		opens  bool // whether it can still be opened
	}{
		{"empty", func([]byte) []byte { return nil }, false},
		{"cut in the head", func(b []byte) []byte { return b[:40] }, false},
		{"cut in the slots", func(b []byte) []byte { return b[:slotsAt+slotLen/2] }, false},
		{"foreign", func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) }, false},
		{"another version", func(b []byte) []byte { b[8]++; return b }, false},
		{"head", func(b []byte) []byte { b[headLen-1]++; return b }, false},
		{"state", func(b []byte) []byte { b[stateAt]++; return b }, false},
		{"slot", func(b []byte) []byte { b[slotsAt+3]++; return b }, false},
		{"too many slots", func(b []byte) []byte { (&state{gen: 9, high: maxShared + 1}).encode(b[stateAt:]); return b }, false},
		{"missing slots", func(b []byte) []byte { (&state{gen: 9, high: 500}).encode(b[stateAt:]); return b }, false},
		{"nonsense in a slot", func(b []byte) []byte { (&slot{uses: 3}).encode(b[slotsAt:]); return b }, false},
		{"ring", func(b []byte) []byte { copy(b[ringAt:slotsAt], bytes.Repeat([]byte{0xff}, ringLen)); return b },
			true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			a := join(t, root, 0)
			insert(t, a, "10.0.0.1:1")
			insert(t, a, "10.0.0.2:1")
			b, err := os.ReadFile(a.shared.files.data.Name())
			if err != nil {
				t.Fatal(err)
			}
			b = c.damage(b)
			if err := os.WriteFile(a.shared.files.data.Name(), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, ok := a.AddrPort(1); !ok || got.Port() != 1 {
				t.Error("an address that was read before the damage is lost")
			}
			a.AddrPort(2)
			second, err := newShared(root, core.AVAttr{Name: "test"}, "scope", core.FormatSockaddrIP, nil)
			if c.opens {
				if err != nil || second.Close() != nil {
					t.Error(err)
				}
			} else if !errors.Is(err, core.ErrIO) || !strings.Contains(err.Error(), "shared address vector test") {
				t.Error("opened:", err)
			}
			if a.Insert([]core.Addr{addr("10.0.0.3:1")}, nil, core.InsertSyncErr); a.Close() != nil ||
				len(files(t, root)) != 0 {
				t.Error(files(t, root))
			}
		})
	}
}

// TestSharedDirectory checks that a directory that another user could have prepared is refused.
func TestSharedDirectory(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "gofabric-"+strconv.Itoa(os.Geteuid()))
	elsewhere := t.TempDir()
	for name, make := range map[string]func() error{
		"others can read it":      func() error { return os.Mkdir(dir, 0o755) },
		"a link":                  func() error { return os.Symlink(elsewhere, dir) },
		"a link to nothing":       func() error { return os.Symlink(filepath.Join(elsewhere, "nothing"), dir) },
		"a file":                  func() error { return os.WriteFile(dir, nil, 0o600) },
		"a pipe without a writer": func() error { return syscall.Mkfifo(dir, 0o600) },
	} {
		j, before := journal.Listen(t), journal.Refused("vectors")
		if err := make(); err != nil {
			t.Fatal(err)
		}
		_, err := newShared(root, core.AVAttr{Name: "test"}, "scope", 0, nil)
		if !errors.Is(err, core.ErrPerm) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		if n := journal.Refused("vectors") - before; n != 1 {
			t.Errorf("%s: %d refused", name, n)
		}
		j.Want("level=WARN", "at="+dir, fmt.Sprintf("uid=%d ", os.Geteuid()))
		os.Remove(dir)
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("a link was followed: %v", left)
	}
}

// TestSharedForeign has another user prepare the directory in every way that this user can, and then try to use the
// directory that this process has made. All attempts must fail.
func TestSharedForeign(t *testing.T) {
	need.Root(t, "acting as another user")
	need.Programs(t, "util-linux", "setpriv")
	root := t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o777|os.ModeSticky); err != nil { // as /dev/shm
		t.Fatal(err)
	}
	as := func(script string) (string, error) {
		c := exec.Command("setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups", "sh", "-c", script)
		c.Dir = root
		out, err := c.CombinedOutput()
		return string(out), err
	}
	dir := filepath.Join(root, "gofabric-0")
	for _, script := range []string{"mkdir -m 700 gofabric-0", "mkdir -m 777 gofabric-0",
		"mkdir loose; chmod 777 loose; ln -s loose gofabric-0", "ln -s /etc gofabric-0", "touch gofabric-0",
		"mkfifo -m 666 gofabric-0"} {
		if out, err := as(script); err != nil {
			t.Fatalf("%s: %v %s", script, err, out)
		}
		j := journal.Listen(t)
		if _, err := newShared(root, core.AVAttr{Name: "test"}, "scope", 0, nil); !errors.Is(err, core.ErrPerm) ||
			!strings.Contains(err.Error(), "belongs to user 4711") {
			t.Errorf("%s: %v", script, err)
		}
		j.Want("a shared address vector", "uid=4711 ", "at="+dir, "own_uid=0")
		if out, err := as("rm -rf gofabric-0 && rmdir loose 2>/dev/null; test ! -e loose"); err != nil {
			t.Errorf("%s: something was made in it: %v %s", script, err, out)
		}
	}
	a := join(t, root, 0)
	defer a.Close()
	insert(t, a, "10.0.0.1:1")
	file := a.shared.files.data.Name()
	for _, script := range []string{"ls gofabric-0", "cat " + file, "echo >> " + file,
		"rm -rf gofabric-0 && test ! -e gofabric-0", "mv gofabric-0 mine"} {
		if out, err := as(script); err == nil {
			t.Errorf("another user has done %q: %s", script, out)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// TestSharedThreads has many threads of several ends insert, remove and look up at the same time.
func TestSharedThreads(t *testing.T) {
	root := t.TempDir()
	ends := []*Table{join(t, root, 0), join(t, root, 0)}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			e := ends[g%2]
			for i := range 100 {
				a := addr(fmt.Sprintf("10.0.%d.1:%d", g, 1+i))
				var fi [1]core.FIAddr
				if n, err := e.Insert([]core.Addr{a}, fi[:], 0); n != 1 || err != nil {
					t.Error(n, err)
					return
				}
				other := ends[(g+1)%2]
				other.Follow()
				if got, err := other.Lookup(fi[0]); err != nil || got != a {
					t.Errorf("%v, %v; want %v", got, err, a)
				}
				if i%2 == 0 {
					if err := e.Remove(fi[:], 0); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, e := range ends {
		e.Follow()
		if e.Len() != 200 {
			t.Error(e.Len())
		}
		e.Close()
	}
}
