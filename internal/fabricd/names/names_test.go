package names

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/wait"
)

var (
	one = core.IPAddr(netip.MustParseAddrPort("10.0.0.1:7471"))
	two = core.IPAddr(netip.MustParseAddrPort("[fd00::2]:7472"))
)

func TestLookup(t *testing.T) {
	d := newFakeDaemon(t)
	d.names["job/3"] = api.Registration{Address: one.String()}
	d.names["a b/%2f?"] = api.Registration{Address: two.String()}
	d.names["text"] = api.Registration{Address: "fi_shm://7"}
	d.names["bad"] = api.Registration{Address: "nonsense"}
	for _, c := range []struct {
		name string
		want core.Addr
		err  core.Errno
		text string
	}{
		{"job/3", one, 0, ""},
		{"a b/%2f?", two, 0, ""},
		{"job/4", core.Addr{}, core.ErrNoData, "fabric://job/4"},
		{"text", core.Addr{}, core.ErrInval, "user 7"},
		{"bad", core.Addr{}, core.ErrInval, "user 7"},
	} {
		got, err := Lookup(t.Context(), c.name)
		switch {
		case c.err == 0:
			if err != nil || len(got) != 1 || got[0] != c.want.IP {
				t.Errorf("%s: %v, %v", c.name, got, err)
			}
		case !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text):
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	d.set(func() { d.status = http.StatusServiceUnavailable })
	if _, err := Lookup(t.Context(), "job/3"); !errors.Is(err, core.ErrNoData) {
		t.Errorf("a daemon that is not ready: %v", err)
	}
	d.set(func() { d.status = http.StatusBadRequest })
	if _, err := Lookup(t.Context(), "job/3"); !errors.Is(err, core.ErrInval) {
		t.Errorf("a name that the daemon refuses: %v", err)
	}
}

func TestNoDaemon(t *testing.T) {
	t.Setenv(fabricd.EnvDir, t.TempDir())
	if _, err := Lookup(t.Context(), "job/3"); !errors.Is(err, core.ErrNoData) ||
		!strings.Contains(err.Error(), "fabricd run") {
		t.Error(err)
	}
	if _, err := Register(t.Context(), "job/3", one); !errors.Is(err, core.ErrNoData) ||
		!strings.Contains(err.Error(), "fabricd run") {
		t.Error(err)
	}
}

// TestRegistration: a name is renewed, registered again after its lease was lost, and removed by Close.
func TestRegistration(t *testing.T) {
	d := newFakeDaemon(t)
	r, err := register(t.Context(), "job/3", one, 15*time.Second, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	next(t, d.puts)
	if got, _ := d.has("job/3"); got != one.String() {
		t.Errorf("registered %q", got)
	}
	for range 3 {
		next(t, d.renews)
	}
	d.set(func() { d.lost = true; clear(d.names) }) // the daemon restarts without its names
	next(t, d.puts)
	if got, _ := d.has("job/3"); got != one.String() {
		t.Errorf("registered again: %q", got)
	}
	d.set(func() { d.status = http.StatusServiceUnavailable }) // the daemon is not ready for a time
	for len(d.renews) > 0 {
		<-d.renews
	}
	next(t, d.renews)
	d.set(func() { d.status, d.lost = 0, true; clear(d.names) })
	next(t, d.puts)
	r.Close()
	if got, ok := d.has("job/3"); ok {
		t.Errorf("after Close, %q is still registered", got)
	}
}

// TestTakenOver: if another program of the user has registered the name since, Close does not remove it.
func TestTakenOver(t *testing.T) {
	d := newFakeDaemon(t)
	r, err := Register(t.Context(), "job/3", one)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Register(t.Context(), "job/3", two)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if got, _ := d.has("job/3"); got != two.String() {
		t.Errorf("after the first one's Close: %q", got)
	}
	other.Close()
	if _, ok := d.has("job/3"); ok {
		t.Error("after both calls of Close, the name is still registered")
	}
}

// TestRefused: a registration that cannot work is refused at once.
func TestRefused(t *testing.T) {
	d := newFakeDaemon(t)
	for _, a := range []core.Addr{{}, core.IPAddr(netip.MustParseAddrPort("0.0.0.0:1")),
		core.IPAddr(netip.MustParseAddrPort("10.0.0.1:0"))} {
		if _, err := Register(t.Context(), "job/3", a); !errors.Is(err, core.ErrAddrNotAvail) {
			t.Errorf("%v: %v", a, err)
		}
	}
	d.set(func() { d.status = http.StatusForbidden })
	_, err := Register(t.Context(), "job/3", one)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != http.StatusForbidden {
		t.Errorf("a name of another user: %v", err)
	}
}

// TestDaemonGone: Close returns in time although the daemon has ended, or does not answer.
func TestDaemonGone(t *testing.T) {
	d := newFakeDaemon(t)
	r, err := Register(t.Context(), "job/3", one)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	d.mu.Lock() // no answer
	r.Close()
	d.mu.Unlock()
	if took := time.Since(begun); took > closeTime+wait.Limit/2 {
		t.Errorf("Close took %v", took)
	}
}
