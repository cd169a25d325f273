//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/version"
	"gofabric/test/need"
	"gofabric/test/program"
)

// The tests in this file run the program under the names of native's tools, and compare it with Debian's tools.

// twins are a native tool, and our program under its name.
type twins struct {
	name, native, ours string
	env                []string
}

func newTwins(t *testing.T, name string, env ...string) twins {
	t.Helper()
	native := need.Programs(t, "libfabric-bin", name)
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(filepath.Join(built(t), "ofi"), link); err != nil {
		t.Fatal(err)
	}
	return twins{name, native, link, env}
}

// ending is the output of a program, and its exit code.
type ending struct {
	out, err string
	code     int
}

func (e ending) String() string { return fmt.Sprintf("exit code %d\n%s%s", e.code, e.out, e.err) }

// command returns one of the two programs, called by its bare name.
func (w twins) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Args[0] = w.name
	cmd.Env = append(os.Environ(), w.env...)
	return cmd
}

func (w twins) run(t *testing.T, path string, args ...string) ending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := w.command(ctx, path, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s %q: %v", path, args, err)
	}
	return ending{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// both runs both programs with the same arguments.
func (w twins) both(t *testing.T, args ...string) (native, ours ending) {
	t.Helper()
	return w.run(t, w.native, args...), w.run(t, w.ours, args...)
}

// same checks that the two programs do the same, after clean has removed permitted differences.
func (w twins) same(t *testing.T, clean func(string) string, args ...string) {
	t.Helper()
	native, ours := w.both(t, args...)
	for _, e := range []*ending{&native, &ours} {
		e.out, e.err = clean(e.out), clean(e.err)
	}
	if native != ours {
		t.Errorf("%s %q, natively: %v\nours: %v", w.name, args, native, ours)
	}
}

func asIs(s string) string { return s }

// atOnce is how many native programs the tests of a tool start at once. A native program sleeps 0.2 s when it starts:
// libinfinipath, which it loads, measures the processor's clock.
const atOnce = 16

// each runs a subtest for each line, several at the same time.
func each[T any](t *testing.T, lines []T, do func(t *testing.T, line T)) {
	t.Helper()
	var g sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, line := range lines {
		free <- struct{}{}
		g.Go(func() {
			t.Run(fmt.Sprint(line), func(t *testing.T) { do(t, line) })
			<-free
		})
	}
	g.Wait()
}

func TestLinkedStrerror(t *testing.T) {
	t.Parallel()
	w := newTwins(t, "fi_strerror")
	each(t, [][]string{{}, {"11"}, {"-11"}, {"0"}, {"+5"}, {" 5"}, {"\t5"}, {"0x0b"}, {"-0x5"}, {"0X1f"}, {"013"}, {"257"}, {"300"}, {"5000"}, {"2147483647"}, {"-h"},
		{"--help"}, {"08"}, {"0x"}, {"5 "}, {"5x"}, {""}, {"-"}, {"--5"}, {"0b1"}, {"0o7"}, {"1_0"}, {"0_7"}, {"2147483648"}, {"-2147483649"}, {"99999999999999999999"}, {"FI_EAGAIN"},
		{"EAGAIN"}, {"1", "2"}, {"--", "5"}}, func(t *testing.T, args []string) { w.same(t, asIs, args...) })
	each(t, []core.Errno{1, 22, 61, 90, 98, 104, 110, 111, 125, 129, 133, 256, 258, 259, 260, 261, 262, 263, 264, 265, 266, 267, 268, 269}, func(t *testing.T, n core.Errno) {
		if native := w.run(t, w.native, fmt.Sprint(int(n))); native.out != n.Error()+"\n" {
			t.Errorf("%d is %q in native, %q here", n, native.out, n)
		}
	})
}

// newer removes additions of later versions: the text of an error, the versions of providers, options that Debian's
// version lacks.
func newer(s string) string {
	for _, r := range [][2]string{
		{`(?m)^(fi_getinfo: -\d+) \(.*\)$`, "$1"},
		{`(?m)^( +version: )\d+\.\d+$`, "$1"},
		{`(?m)^ -[fs] <.*\n`, ""},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}

func TestLinkedInfo(t *testing.T) {
	t.Parallel()
	w := newTwins(t, "fi_info")
	each(t, []string{
		"-h", "--help", "-x", "-V", "-lx", "-p", "--nope", "--nope=1", "--ver", "--p tcp", "--list=3", "--provider",
		"-c FI_FOO", "-c FI_MSG,FI_RMA", "-c MSG", "--caps=FI_MSG|FI_FOO", "-m FI_FOO", "-m CONTEXT", "-t foo", "-t rdm", "-a foo", "-c FI_FOO -x", "-x -c FI_FOO",
		"-p nope", "-p nope -e", "-p tcp -t FI_EP_DGRAM", "-p tcp -n 256.1.1.1", "-i nosuchtext", "-g nosuchvariable",
		"-p tcp -t FI_EP_MSG -s 127.0.0.1", "-ptcp --ep_type=fi_ep_msg -s127.0.0.1", "--prov tcp --ep_type FI_EP_MSG --src_addr 127.0.0.1 -- -x", "extra -p tcp -t FI_EP_MSG -n 127.0.0.1 -P 7471",
		"-p udp -t FI_EP_DGRAM -n 127.0.0.1 -P 7471", "-p udp -t FI_EP_DGRAM -s 127.0.0.1", "-p tcp -t FI_EP_MSG -d lo -f 127.0.0.1/32 -s 127.0.0.1", "-p tcp -t FI_EP_MSG -n 127.0.0.1 -s 127.0.0.1",
		"-p tcp -t FI_EP_MSG -a FI_SOCKADDR_IN -n 127.0.0.1", "-p tcp -t FI_EP_MSG -a FI_SOCKADDR_IN6 -n ::1", "-p tcp -t FI_EP_MSG -c FI_MSG|FI_RMA -s 127.0.0.1", "-p udp -t FI_EP_DGRAM -c FI_RMA",
		"-p tcp -t FI_EP_MSG -c |FI_MSG||FI_SEND| -s 127.0.0.1", "-p tcp -t FI_EP_MSG -m FI_CONTEXT|FI_MSG_PREFIX -s 127.0.0.1", "-p tcp -t FI_EP_MSG -c FI_MSG -c FI_READ -s 127.0.0.1",
		"-p udp;ofi_rxd -t FI_EP_RDM -s 127.0.0.1",
	}, func(t *testing.T, line string) { w.same(t, newer, strings.Fields(line)...) })
}

// TestLinkedInfoForm compares the form of output whose contents differ from native's.
func TestLinkedInfoForm(t *testing.T) {
	t.Parallel()
	w := newTwins(t, "fi_info", "FI_UNIVERSE_SIZE=77", "FI_LOG_PROV=tcp udp")
	const variable = `# FI_\w+: (String|Integer|size_t|Boolean \(0/1, on/off, true/false, yes/no\)|Unknown)\n# .*\n(FI_\w+=.*\n)?\n`
	forms := map[string]string{
		"":          `(provider: \S+\n    fabric: \S+\n    domain: \S+\n    version: \d+\.\d+\n    type: FI_EP_\w+\n    protocol: FI_PROTO_\w+\n)+`,
		"-l":        `(\S+:\n    version: \d+\.\d+\n)+`,
		"--version": `fi_info: \d+\.\d+\.\d+.*\nlibfabric: \d+\.\d+\.\d+.*\nlibfabric api: \d+\.\d+\n`,
		"-e":        `(` + variable + `)+`,
		"--env -l":  `(` + variable + `)+`,
		"-g fi_tcp": `(` + variable + `)+`,
		"-v -l":     `(---\nfi_info:\n(    .*\n)+)+`,
	}
	each(t, slices.Collect(maps.Keys(forms)), func(t *testing.T, args string) {
		form := forms[args]
		native, ours := w.both(t, strings.Fields(args)...)
		native.out = strings.ReplaceAll(native.out, "\x00", "") // native prints a zero byte in place of an absent quotation mark
		for whose, e := range map[string]ending{"natively": native, "ours": ours} {
			if !regexp.MustCompile(`^`+form+`$`).MatchString(e.out) || e.err != "" || e.code != 0 {
				t.Errorf("fi_info %s, %s: %v", args, whose, e)
			}
		}
	})
	if ours := w.run(t, w.ours, "--version"); ours.out != "fi_info: "+version.Number+"\nlibfabric: "+version.Library()+"\nlibfabric api: 2.6\n" {
		t.Errorf("--version: %v", ours)
	}
	for name, want := range map[string]string{"UNIVERSE_SIZE": "FI_UNIVERSE_SIZE=77\n", "log_prov": "FI_LOG_PROV=\"tcp udp\"\n"} {
		native, ours := w.both(t, "-g", name)
		if got := strings.ReplaceAll(native.out, "\x00", ""); !strings.HasSuffix(got, want+"\n") {
			t.Errorf("fi_info -g %s, natively: %s", name, got)
		}
		if name == "UNIVERSE_SIZE" && !strings.HasSuffix(ours.out, " (default: 256)\n"+want+"\n") {
			t.Errorf("fi_info -g %s: %s", name, ours.out)
		}
	}
}

// TestLinkedInfoVerbose: both programs print the same attributes, at the same places and in the same order.
// Attributes that only one of the versions has are left out.
func TestLinkedInfoVerbose(t *testing.T) {
	t.Parallel()
	w := newTwins(t, "fi_info")
	each(t, []string{"-v -p tcp -t FI_EP_MSG -s 127.0.0.1", "-v -p udp -t FI_EP_DGRAM -s 127.0.0.1", "-i FI_EP_DGRAM -p udp -t FI_EP_DGRAM -s 127.0.0.1"}, func(t *testing.T, line string) {
		native, ours := w.both(t, strings.Fields(line)...)
		a, b := attributeNames(native.out), attributeNames(ours.out)
		common := func(x, other []string) (l []string) {
			for _, n := range x {
				if slices.Contains(other, n) {
					l = append(l, n)
				}
			}
			return l
		}
		if x, y := common(a, b), common(b, a); !slices.Equal(x, y) || len(x) < 60 || len(x) < len(a)-6 ||
			!strings.HasPrefix(ours.out, "---\nfi_info:\n    caps: [ FI_MSG, ") {
			t.Errorf("%s: natively %q\nours %q\n%s", line, a, b, ours.out)
		}
	})
}

// attributeNames returns the names of the attributes of the first info, with their places.
func attributeNames(text string) (l []string) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "---\n"), "---\n")
	section := ""
	for s := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimRight(s, "\n"), ": ")
		if strings.HasSuffix(name, ":") {
			section = strings.TrimSpace(name)
		}
		l = append(l, section+name)
	}
	return l
}

func TestLinkedPingpongOptions(t *testing.T) {
	t.Parallel()
	w := newTwins(t, "fi_pingpong")
	each(t, []string{"-h", "--help", "-x", "-cx", "-p", "-e foo", "-I 3 -e foo -x"}, func(t *testing.T, line string) { w.same(t, newer, strings.Fields(line)...) })
	// Errors have native's exit code, and a text of our own.
	port := program.FreePort(t)
	each(t, []string{"-p tcp -e msg -P " + port + " 127.0.0.1", "-p tcp -e msg -6 -P " + port + " ::1", "-p tcp no.such.host.invalid"}, func(t *testing.T, line string) {
		native, ours := w.both(t, strings.Fields(line)...)
		if native.code != ours.code || ours.out != "" || !strings.HasPrefix(ours.err, "[error] ") {
			t.Errorf("%s: natively %v\nours: %v", line, native, ours)
		}
	})
	// Native reports these arguments, and continues with other numbers.
	bad := map[string]string{"-I x": "Invalid argument", "-I -3": "Numerical result out of range", "-S 3x": "Invalid argument", "-S 99999999999999999999": "Numerical result out of range",
		"-B 99999": "Numerical result out of range", "-P 0x10": "Invalid argument"}
	each(t, slices.Collect(maps.Keys(bad)), func(t *testing.T, arg string) {
		args := strings.Fields(arg)
		line := fmt.Sprintf("Error parsing \"%s\": %s\n", args[1], bad[arg])
		if native := w.run(t, w.native, append(args, "-e", "foo")...); !strings.HasPrefix(native.err, line) {
			t.Errorf("%s: natively %v", arg, native)
		}
		if ours := w.run(t, w.ours, args...); ours != (ending{"", line, 1}) {
			t.Errorf("%s: %v", arg, ours)
		}
	})
	// Native waits for a client even if it has no endpoint to offer.
	for _, args := range [][]string{{"-p", "nope"}, {"-p", "tcp", "-e", "dgram"}, {"-p", "tcp", "-e", "msg", "-d", "nope"}, {"-p", "tcp", "-e", "msg", "-f", "nope"}} {
		if ours := w.run(t, w.ours, args...); ours.code != int(core.ErrNoData) ||
			!strings.HasPrefix(ours.err, "[error] ") {
			t.Errorf("%s: %v", args, ours)
		}
	}
}

// TestLinkedPingpong: either end may be native's. Both ends print the same table in the same form, and end without
// an error.
func TestLinkedPingpong(t *testing.T) {
	t.Parallel()
	w := newTwins(t, "fi_pingpong")
	const all = "64 256 1k 4k 64k 1m"
	type run struct{ options, count, sizes string }
	runs := []run{
		{"-p tcp -e msg -c -v -I 2", "2", all},
		{"-p tcp -e MSG -S 1000 -I 1500", "1k", "1000"},
		{"-p tcp;ofi_rxm -e rdm -m tagged -c -I 2", "2", all},
		{"-p udp -e dgram", "10", "64 256 1k"},
	}
	if need.Many() {
		runs = append(runs, []run{
			{"-p tcp -e msg", "10", all},
			{"-p tcp;ofi_rxm -e rdm -m tagged -c", "10", all},
			{"-p tcp -e msg -S all -I 2", "2", ""},
			{"-p tcp -e msg -6 -S 64", "10", "64"},
			{"-p tcp -e msg -d lo -S 64", "10", "64"},
			{"-p tcp -e msg -I 0", "", ""},
			{"-p udp;ofi_rxd -e rdm -S 2048", "10", "2k"},
			{"-p udp -S 100", "10", "100"},
		}...)
	}
	for _, c := range runs { // one after the other: both ends of each poll, and need a core each
		for _, ends := range [][2]string{{w.native, w.ours}, {w.ours, w.native}} {
			t.Run(fmt.Sprintf("%s, our server %v", c.options, ends[0] == w.ours), func(t *testing.T) {
				w.play(t, ends, c.options, c.count, strings.Fields(c.sizes))
			})
		}
	}
}

// play runs a server and a client, with a port of their own (-B, -P).
func (w twins) play(t *testing.T, ends [2]string, options, count string, sizes []string) {
	port, args := program.FreePort(t), strings.Fields(options)
	var out, errOut bytes.Buffer
	cmd := w.command(t.Context(), ends[0], append([]string{"-B", port}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	server := program.Start(t, cmd)
	server.AwaitListener(port)
	host := "127.0.0.1"
	if slices.Contains(args, "-6") {
		host = "::1"
	}
	client := w.run(t, ends[1], append(args, "-P", port, host)...)
	if err := server.Wait(); err != nil || client.code != 0 {
		t.Fatalf("server: %v\n%s%s\nclient: %v", err, &out, &errOut, client)
	}
	for i, table := range []string{out.String(), client.out} {
		rows := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
		if count == "" {
			if table != "" {
				t.Errorf("a table without iterations: %q", table)
			}
			continue
		}
		if rows[0] != "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec" {
			t.Errorf("head %q", rows[0])
		}
		var got []string
		for _, row := range rows[1:] {
			m := regexp.MustCompile(`^(\S+) +(\S+) +=(\S+) +(\S+) +\d+\.\d\ds +(?:\d+\.\d\d|inf) +\d+\.\d\d +(?:\d+\.\d\d|inf)$`).FindStringSubmatch(row)
			if m == nil || m[2] != count || m[3] != count || row[8:8+len(count)] != count {
				t.Fatalf("row %q", row)
			}
			got = append(got, m[1])
		}
		if all := len(sizes) == 0; !all && !slices.Equal(got, sizes) || all && len(got) < 40 {
			t.Errorf("sizes %q, want %q", got, sizes)
		}
		if verbose := slices.Contains(args, "-v"); i == 1 &&
			(verbose != strings.Contains(client.err, "[debug] ") || !verbose && client.err != "") {
			t.Errorf("on standard error: %s", client.err)
		}
	}
}

// TestLinkedNames: the program behaves as another one under the three names only.
func TestLinkedNames(t *testing.T) {
	for name, want := range map[string]bool{"fi_info": true, "/opt/bin/fi_pingpong": true, "./fi_strerror": true, "fi_info.exe": true, "ofi": false, "/usr/bin/ofi": false, "fi": false, "fi_info2": false, "": false} {
		if got := linked(name) != nil; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestVersion: ofi version, ofi --version and ofi info --version print the version.
func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if out, _, err := runFi(t, nil, nil, nil, args...); err != nil || out != version.Text("ofi") {
			t.Errorf("%s: %v, %q", args, err, out)
		}
	}
	if out, _, err := runFi(t, nil, nil, nil, "info", "--version"); err != nil ||
		out != "ofi: "+version.String()+"\nlibfabric: "+version.Library()+"\nlibfabric api: 2.6\n" {
		t.Errorf("info --version: %v, %q", err, out)
	}
}
