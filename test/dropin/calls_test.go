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

// This file has a program make every call of libfabric's, with valid and with invalid arguments, on native libfabric and on the library, and compares
// what the calls return. It needs a native libfabric 2.x (GOFABRIC_NATIVE_PREFIX).

// families are those of testdata/calls.
var families = []string{"info", "fabric", "queue", "vector", "region", "endpoint", "option", "connection", "transfer", "atomic", "group", "context", "work", "object"}

// What became of a call that returned nothing.
const (
	died    = "died"
	notMade = "not made" // for what it needs is not there
)

// excuse says why the library and native may differ in calls whose names match, when their results match, too.
type excuse struct {
	call, ours, native *regexp.Regexp
	why                string
}

func x(call, ours, native, why string) excuse {
	whole := func(s string) *regexp.Regexp { return regexp.MustCompile("^(?:" + s + ")$") }
	return excuse{whole(call), whole(ours), whole(native), why}
}

// excuses are the differences that there may be; docs/c-programs.md has them in words.
var excuses = []excuse{
	x(".*", "-?[0-9]+|"+notMade, died, "native does not survive it"),
	x(".*", "-?[0-9]+", notMade, "native did not come that far, having none or having died"),
	x(".*", "-?[0-9]+", "-38", "native has no such call there (FI_ENOSYS)"),
	x("(messages|tagged|remote|atomic|lookup|remove|more|insert|asynchronous): .*", "-?[0-9]+", "-11", "native is not connected yet: it has one send tried again and again"),
	// What the library has and native has not.
	x("getinfo: .*|hints: .*|scalable: .*|trigger: .*|attributes: .*", "0", "-61", "a capability that native has not"),
	x("valid: .*", "0", "-95", "a datatype or an operation that native has not"),
	x("(eq|cq|cntr|wait): .*wait_obj [45].*", "-?[0-9]+", "-22", "a wait object that native has not"),
	x(".*: (fi_getopt|fi_setopt|its size).*", "-?[0-9]+", "-92|0|1|4|8|16|-22|-257|-258", "options that one has and the other has not, and lengths that native does not look at"),
	x("open: .*ctx_cnt = 4", "0", "-61", "contexts that native has not"),
	x("insert: .*(SYNC_ERR|USER_ID|insertsvc|insertsym).*", "-?[0-9]+", "-22", "names, flags and vectors that native has not"),
	x("asynchronous: .*", "-?[0-9]+", "-?[0-9]+", "native's rxd has no events of insertions"),
	x("cq: fi_cq_open\\(.*", "0", "-12", "a queue is as long as it has to be, whatever length was asked for"),
	x("control: .*|bind: cntr to ep.*", "-?[0-9]+", "-?[0-9]+", "wait objects and states that native's stacks tell of in different ways"),
	x("join: .*", "-?[0-9]+", "-261", "an event queue is wanted later"),
	// What the library refuses and native takes, to do something else.
	x("(messages|tagged|remote|atomic): .*(, 16, |inject_size \\+ 1|max_size \\+ 1|much|100000|FI_ADDR_UNSPEC, CTX|FI_INJECT|ep, &m, 0\\)|, 0, to|buf, 0, NULL|, 99|CSWAP|ATOMIC_READ|FI_BAND|"+
		"NULL, [01], to|, NULL, 0, NULL, |compare_atomic).*", "-22|-90|-95", "-?[0-9]+", "lengths, counts and operations that cannot be: native does not look"),
	x("(messages|tagged|remote): .*flags 0x.*", "-22|-260", "0|-42", "flags that are no such call's: native does not look"),
	x("tagged: .*", "-38", "0", "no FI_TAGGED was asked for"),
	x("messages: .*", "-22", "-89", "addresses that there are not"),
	x("messages: fi_sendmsg, flags .*", "-38|-95", "0", "datagrams have no remote data, and no level that wants an answer"),
	x("(mr|region): .*", "-22|-260|-266", "0", "lengths without memory, offsets, flags and counts beyond mr_iov_limit: native does not look"),
	x("av: .*", "-22|-95", "0|-22", "numbers of bits, and flags, that cannot be"),
	x("insert: (fi_av_insert\\(.*(bad|NULL, 1|FI_AV_USER_ID|nosuchservice).*|fi_av_insertsvc.*nosuch.*|errs.*)", "-?[0-9]+", "0|1", "what is no address: native's rxd does not look"),
	x("(bind|poll|eq|wait|cntr|passive|join|trywait): .*", "-22|-260|-38|-61", "-?[0-9]+", "flags, events and objects that cannot be: native looks at them in another order, or not at all"),
	x("eq: fi_eq_read\\(eq.*", "-11", "24", "there is nothing, for it could not be written"),
	x("cq: fi_cq_sread.*timeout 0", "-11|-38", "-11|-110", "native's rxd has another error for it, and native does not mind a queue without a wait object when it does not wait"),
	x("cq: FI_GETWAITOBJ, wait_obj 0", "0", "-61", "FI_WAIT_NONE is an answer"),
	x("close: eq", "-16", "0", "it is bound to something"),
	x("poll: fi_close of a poll set with a member", "-16", "0", "native does not count them, though fi_poll(3) says so"),
	x("domain: .*", "-61", "0", "native's layers do not look at attributes of domains"),
	x("getinfo: ask.*(70000|FI_NUMERICHOST).*|hints: .*(IN6|control_progress = 99)|attributes: .*FI_HMEM", "-61", "0",
		"ports above 65535, names where numbers are wanted, and hints that contradict each other"),
	x("fabric: fi_fabric.*", "-38", "0|-22", "an API version that is not there yet"),
	x("not enabled: .*|.*: fi_(connect|accept|shutdown|enable|cancel|setname|send|recv|ep_bind|ep_alias)\\(.*", "-(2|22|107|258|261|263|267)|0", "-?[0-9]+",
		"what cannot be done in a state is FI_EOPBADSTATE, FI_ENOTCONN, or the name of what is missing; a context that is nobody's is FI_ENOENT"),
	x("open: fi_(endpoint|passive_ep).*", "-61|-22", "-22|-9|0", "both refuse; a passive endpoint is of connections"),
	x("shared: .*", "0|-2|-16|-22", "0|-22", "a context that is in use is not closed"),
	x("remove: .*1ull << 60.*", "-22", "0", "flags that cannot be"),
	x("lookup: len", "16", "0", "native's rxd tells no lengths"),
	x("valid: .*", "-95", "-22", "both refuse"),
	x("texts: fi_open.*", "-38", "0", "there is no cache of registrations and no logging to be replaced"),
}

// excused is why a difference may be, "" if it may not.
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
	if out, err := exec.Command("gcc", append(args, "-L"+prefix+"/lib", "-lfabric", "-ldl", "-lpthread")...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// result is what a call returned. Calls of one name are told apart by their order.
type result struct {
	call string
	nth  int
	got  string
}

// callsOf runs a family of calls on the library that env names. A call that kills the program is left out when it is run again.
func callsOf(t *testing.T, env []string, program string, s stack, family string) (list []result) {
	t.Helper()
	seen := map[string]int{}
	var skip []string
	for first := 0; len(skip) < 60; {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		p := start(ctx, t, env, program, append([]string{s.provider, s.kind, family, strconv.Itoa(first)}, skip...)...)
		p.Wait() // how it ends shows in what it prints
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
			return list // it ended outside of a call: what is wanted for the next is not there
		}
		first, skip = last+1, append(skip, strconv.Itoa(last))
	}
	return list
}

// TestCalls compares the library's results with native's.
func TestCalls(t *testing.T) {
	prefix := os.Getenv("GOFABRIC_NATIVE_PREFIX")
	if prefix == "" {
		t.Skip("GOFABRIC_NATIVE_PREFIX is not set: there is nothing to compare with")
	}
	program := callsProgram(t, prefix)
	ours, native := onOurs(t), []string{"LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib"), "DROPIN_LIBRARY=", "FI_LOG_LEVEL=none"}
	for _, s := range stacks {
		for _, family := range families {
			t.Run(s.String()+" "+family, func(t *testing.T) {
				if few := s.provider == "tcp" || family != "transfer" && s.provider == "udp"; !few && !need.Many() {
					t.Skip("native dies in many of these calls and is run again each time: set GOFABRIC_MANY")
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
						t.Errorf("%s: the program dies; natively: %s", r.call, got)
					case excused(r.call, r.got, got) == "":
						t.Errorf("%s: %s, natively %s", r.call, r.got, got)
					}
				}
				t.Logf("%d of %d calls return the same", same, len(here))
			})
		}
	}
}
