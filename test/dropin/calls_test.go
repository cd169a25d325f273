package dropin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/test/need"
)

// This file makes a program call all functions of libfabric, with valid and with invalid arguments, on native
// libfabric and on the library, and compares the results. It needs a native libfabric 2.x (GOFABRIC_NATIVE_PREFIX).

// families are the families of calls in testdata/calls.
var families = []string{"info", "fabric", "queue", "vector", "region", "endpoint", "option", "connection", "transfer",
	"atomic", "group", "context", "work", "object"}

// The results of calls that returned nothing.
const (
	died    = "died"
	notMade = "not made" // an object that it needs does not exist
)

// excuse says why the library and native may differ. It applies to calls and results that match its patterns.
type excuse struct {
	call, ours, native *regexp.Regexp
	why                string
}

func x(call, ours, native, why string) excuse {
	whole := func(s string) *regexp.Regexp { return regexp.MustCompile("^(?:" + s + ")$") }
	return excuse{whole(call), whole(ours), whole(native), why}
}

// excuses are the permitted differences. docs/c-programs.md explains them.
var excuses = []excuse{
	x(".*", "-?[0-9]+|"+notMade, died, "native crashes in this call"),
	x(".*", "-?[0-9]+", notMade, "native cannot make the call: the object does not exist there, or the program has crashed"),
	x(".*", "-?[0-9]+", "-38", "native does not implement the call here (FI_ENOSYS)"),
	x("(messages|tagged|remote|atomic|lookup|remove|more|insert|asynchronous): .*", "-?[0-9]+", "-11",
		"native is not connected yet: a send must be repeated until it is"),
	// The library supports these and native does not.
	x("getinfo: .*|hints: .*|scalable: .*|trigger: .*|attributes: .*", "0", "-61", "native lacks the capability"),
	x("valid: .*", "0", "-95", "native lacks the datatype or the operation"),
	x("(eq|cq|cntr|wait): .*wait_obj [45].*", "-?[0-9]+", "-22", "native lacks the wait object"),
	x(".*: (fi_getopt|fi_setopt|its size).*", "-?[0-9]+", "-92|0|1|4|8|16|-22|-257|-258",
		"options that only one of the two has, and lengths that native does not check"),
	x("open: .*ctx_cnt = 4", "0", "-61", "native lacks these contexts"),
	x("insert: .*(SYNC_ERR|USER_ID|insertsvc|insertsym).*", "-?[0-9]+", "-22",
		"native lacks these names, flags and vectors"),
	x("asynchronous: .*", "-?[0-9]+", "-?[0-9]+", "native's rxd reports no events for insertions"),
	x("cq: fi_cq_open\\(.*", "0", "-12",
		"the library makes a queue as long as necessary, for any size in the attributes"),
	x("control: .*|bind: cntr to ep.*", "-?[0-9]+", "-?[0-9]+",
		"native's stacks report wait objects and states in different ways"),
	x("join: .*", "-?[0-9]+", "-261", "the library requires an event queue later"),
	// The library refuses these. Native accepts them and does something else.
	x("(messages|tagged|remote|atomic): .*(, 16, |inject_size \\+ 1|max_size \\+ 1|much|100000|FI_ADDR_UNSPEC, CTX|FI_INJECT|ep, &m, 0\\)|, 0, to|buf, 0, NULL|, 99|CSWAP|ATOMIC_READ|FI_BAND|"+
		"NULL, [01], to|, NULL, 0, NULL, |compare_atomic).*", "-22|-90|-95", "-?[0-9]+",
		"invalid lengths, counts and operations: native does not check them"),
	x("(messages|tagged|remote): .*flags 0x.*", "-22|-260", "0|-42",
		"flags that the call does not have: native does not check them"),
	x("tagged: .*", "-38", "0", "FI_TAGGED was not requested"),
	x("messages: .*", "-22", "-89", "addresses that do not exist"),
	x("messages: fi_sendmsg, flags .*", "-38|-95", "0",
		"datagrams have no remote data, and no completion level that needs an answer"),
	x("(mr|region): .*", "-22|-260|-266", "0",
		"lengths without memory, offsets, flags, and counts beyond mr_iov_limit: native does not check them"),
	x("av: .*", "-22|-95", "0|-22", "invalid numbers of bits, and invalid flags"),
	x("insert: (fi_av_insert\\(.*(bad|NULL, 1|FI_AV_USER_ID|nosuchservice).*|fi_av_insertsvc.*nosuch.*|errs.*)",
		"-?[0-9]+", "0|1", "invalid addresses: native's rxd does not check them"),
	x("(bind|poll|eq|wait|cntr|passive|join|trywait): .*", "-22|-260|-38|-61", "-?[0-9]+",
		"invalid flags, events and objects: native checks them in another order, or not at all"),
	x("eq: fi_eq_read\\(eq.*", "-11", "24", "the queue is empty, because the event could not be written"),
	x("cq: fi_cq_sread.*timeout 0", "-11|-38", "-11|-110",
		"native's rxd returns another error, and native accepts a queue without a wait object when it does not wait"),
	x("cq: FI_GETWAITOBJ, wait_obj 0", "0", "-61", "the library answers FI_WAIT_NONE"),
	x("close: eq", "-16", "0", "the queue is bound to an object"),
	x("poll: fi_close of a poll set with a member", "-16", "0",
		"native does not count references, although fi_poll(3) requires it"),
	x("domain: .*", "-61", "0", "native's layers do not check attributes of domains"),
	x("getinfo: ask.*(70000|FI_NUMERICHOST).*|hints: .*(IN6|control_progress = 99)|attributes: .*FI_HMEM", "-61", "0",
		"ports above 65535, names in place of numbers, and hints that contradict each other"),
	x("fabric: fi_fabric.*", "-38", "0|-22", "an API version that does not exist yet"),
	x("not enabled: .*|.*: fi_(connect|accept|shutdown|enable|cancel|setname|send|recv|ep_bind|ep_alias)\\(.*",
		"-(2|22|107|258|261|263|267)|0", "-?[0-9]+",
		"the error for a call in the wrong state is FI_EOPBADSTATE, FI_ENOTCONN or the name of what is missing; for an unknown context it is FI_ENOENT"),
	x("open: fi_(endpoint|passive_ep).*", "-61|-22", "-22|-9|0", "both refuse; passive endpoints are for connections"),
	x("shared: .*", "0|-2|-16|-22", "0|-22", "a context in use cannot be closed"),
	x("remove: .*1ull << 60.*", "-22", "0", "invalid flags"),
	x("lookup: len", "16", "0", "native's rxd does not return lengths"),
	x("valid: .*", "-95", "-22", "both refuse"),
	x("texts: fi_open.*", "-38", "0", "there is no cache of registrations and no logging that a program could replace"),
}

// excused returns why a difference is permitted, "" if it is not.
func excused(call, ours, native string) string {
	for _, e := range excuses {
		if e.call.MatchString(call) && e.ours.MatchString(ours) && e.native.MatchString(native) {
			return e.why
		}
	}
	return ""
}

// callsProgram builds the program with native's headers.
func callsProgram(t *testing.T, prefix string) string {
	t.Helper()
	sources, err := filepath.Glob("testdata/calls/*.c")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(work, "calls")
	args := append([]string{"-g", "-O1", "-w", "-I" + prefix + "/include", "-o", path, "testdata/pair.c"}, sources...)
	if out, err := exec.Command("gcc",
		append(args, "-L"+prefix+"/lib", "-lfabric", "-ldl", "-lpthread")...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// result is what a call returned. Calls with the same name are distinguished by their order.
type result struct {
	call string
	nth  int
	got  string
}

// callsOf runs a family of calls on the library that env selects. If a call kills the program, callsOf runs the
// program again without that call.
func callsOf(t *testing.T, env []string, program string, s stack, family string) (list []result) {
	t.Helper()
	seen := map[string]int{}
	var skip []string
	for first := 0; len(skip) < 60; {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		p := start(ctx, t, env, program, append([]string{s.provider, s.kind, family, strconv.Itoa(first)}, skip...)...)
		p.Wait() // the program's end shows in its output
		cancel()
		last, open := -1, false
		for line := range strings.Lines(p.String()) {
			if line == "end\n" {
				return list
			}
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
			n, err := strconv.Atoi(f[0])
			if err != nil || len(f) != 3 || n < first {
				continue
			}
			last, open = n, strings.TrimLeft(f[2], "-0123456789") != "" || f[2] == ""
			got := f[2]
			if open {
				got = died
			}
			seen[f[1]]++
			list = append(list, result{f[1], seen[f[1]], got})
		}
		if !open {
			return list // the program ended outside of a call: an object that the next call needs does not exist
		}
		first, skip = last+1, append(skip, strconv.Itoa(last))
	}
	return list
}

// TestCalls compares the library's results with native's.
func TestCalls(t *testing.T) {
	prefix := os.Getenv("GOFABRIC_NATIVE_PREFIX")
	if prefix == "" {
		t.Skip("GOFABRIC_NATIVE_PREFIX is not set: there is no native libfabric to compare with")
	}
	program := callsProgram(t, prefix)
	ours, native := onOurs(t), []string{"LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib"),
		"DROPIN_LIBRARY=", "FI_LOG_LEVEL=none"}
	for _, s := range stacks {
		for _, family := range families {
			t.Run(s.String()+" "+family, func(t *testing.T) {
				if few := s.provider == "tcp" || family != "transfer" && s.provider == "udp"; !few && !need.Many() {
					t.Skip("native crashes in many of these calls and must be started again each time: set GOFABRIC_MANY")
				}
				t.Parallel()
				here := callsOf(t, ours, program, s, family)
				there := map[result]string{}
				for _, r := range callsOf(t, native, program, s, family) {
					there[result{call: r.call, nth: r.nth}] = r.got
				}
				same := 0
				for _, r := range here {
					got, made := there[result{call: r.call, nth: r.nth}]
					if !made {
						got = notMade
					}
					switch {
					case r.got == got && got != died:
						same++
					case r.got == died:
						t.Errorf("%s: the program crashes; natively: %s", r.call, got)
					case excused(r.call, r.got, got) == "":
						t.Errorf("%s: %s, natively %s", r.call, r.got, got)
					}
				}
				t.Logf("%d of %d calls return the same", same, len(here))
			})
		}
	}
}
