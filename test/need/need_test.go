package need

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// fake is a test that keeps how it ended.
type fake struct {
	testing.TB
	ended string
}

func (f *fake) Helper() {}

func (f *fake) Fatalf(format string, args ...any) {
	f.ended = "fails: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *fake) Skipf(format string, args ...any) {
	f.ended = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// ended is how a test ends, "" if it goes on.
func ended(t *testing.T, test func(testing.TB)) string {
	f := &fake{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.ended
}

// TestNeed: what is there does not end a test; what is missing skips it, and fails it where it is required.
func TestNeed(t *testing.T) {
	absent := func(t testing.TB) { Programs(t, "no-package", "sh", "gofabric-no-such-program") }
	for _, required := range []string{"", "required"} {
		t.Setenv("GOFABRIC_PEERS", required)
		if end := ended(t, func(t testing.TB) { Programs(t, "dash", "sh", "cat") }); end != "" {
			t.Errorf("with sh and cat, a test %s", end)
		}
		want := "skipped: there is no gofabric-no-such-program: apt install no-package"
		if required != "" {
			want = "fails: GOFABRIC_PEERS=required, but there is no gofabric-no-such-program"
		}
		if end := ended(t, absent); !strings.HasPrefix(end, want) {
			t.Errorf("without a program, a test %s", end)
		}
		if end := ended(t, func(t testing.TB) { Root(t, "this") }); (end == "") != (os.Geteuid() == 0) {
			t.Errorf("user %d: a test for root %s", os.Geteuid(), end)
		}
	}
}

// TestAsked: what takes long is skipped unless it is asked for.
func TestAsked(t *testing.T) {
	t.Setenv("GOFABRIC_MANY", "")
	long := func(t testing.TB) { Asked(t, "it takes a year") }
	if end := ended(t, long); end != "skipped: it takes a year: set GOFABRIC_MANY=1" || Many() {
		t.Errorf("not asked for, it %s", end)
	}
	t.Setenv("GOFABRIC_MANY", "1")
	if end := ended(t, long); end != "" || !Many() {
		t.Errorf("asked for, it %s", end)
	}
}
