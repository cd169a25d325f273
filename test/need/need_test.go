package need

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// fake is a test that records how it ended.
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

// ended returns how a test ends, "" if it continues.
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

// TestNeed checks that a prerequisite that is met does not end a test, and that a missing one skips it, or fails it
// where it is required.
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

// TestAsked checks that long tests are skipped unless they should run.
func TestAsked(t *testing.T) {
	t.Setenv("GOFABRIC_MANY", "")
	long := func(t testing.TB) { Asked(t, "it takes a year") }
	if end := ended(t, long); end != "skipped: it takes a year: set GOFABRIC_MANY=1" || Many() {
		t.Errorf("without GOFABRIC_MANY, it %s", end)
	}
	t.Setenv("GOFABRIC_MANY", "1")
	if end := ended(t, long); end != "" || !Many() {
		t.Errorf("with GOFABRIC_MANY, it %s", end)
	}
}
