// Command fabtests runs libfabric's own test programs on this project's C library, and on native libfabric for
// comparison. It prints a table.
//
// It needs libfabric's fabtests, built and installed. It takes the lists of tests from the script runfabtests.sh
// there:
//
//	make -C cmd/libfabric
//	go run ./test/fabtests -bin /opt/fabtests/bin -list quick
//	go run ./test/fabtests -bin /opt/fabtests/bin -list all -native /opt/libfabric/lib -stacks 'tcp,tcp;ofi_rxm' -markdown > table.md
//	go run ./test/fabtests -bin /opt/fabtests/bin -run 'fi_rdm_atomic.*' -v
//
// The exit status is 1 if a test failed on our library but not on the native one, or if a test that -run selects
// failed.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	var (
		bin      = flag.String("bin", "", "folder of the fabtests programs and runfabtests.sh")
		ours     = flag.String("ours", "cmd/libfabric/build", "folder of our libfabric.so.1")
		native   = flag.String("native", "", "folder of the native libfabric.so.1; if empty, only ours is tested")
		stacks   = flag.String("stacks", "tcp,tcp;ofi_rxm,udp,udp;ofi_rxd", "providers, separated by commas")
		list     = flag.String("list", "quick", "quick, all, or sets separated by commas: unit, functional, short, standard, complex, multinode, threaded, regression, negative")
		only     = flag.String("run", "", "regular expression: run only tests that match")
		timeout  = flag.Duration("timeout", 2*time.Minute, "time limit of one test; runfabtests.sh has the same")
		markdown = flag.Bool("markdown", false, "print the table as Markdown")
		verbose  = flag.Bool("v", false, "print the output of tests that fail")
	)
	flag.Parse()
	if err := check(*bin, *ours, *native); err != nil {
		fmt.Fprintln(os.Stderr, "fabtests:", err)
		os.Exit(2)
	}
	tests, err := readLists(filepath.Join(*bin, "runfabtests.sh"), *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fabtests:", err)
		os.Exit(2)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fabtests: -run:", err)
		os.Exit(2)
	}
	// A shell starts background programs with interrupts ignored, and the tests would inherit that. But
	// sighandler_test needs to be interrupted.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(130)
	}()
	t := &table{markdown: *markdown, native: *native != ""}
	for _, stack := range strings.Split(*stacks, ",") {
		r := &runner{bin: *bin, stack: stack, timeout: *timeout}
		for _, test := range tests {
			if !match.MatchString(test.line) {
				continue
			}
			o := r.run(test, *ours)
			if bad(o) && *verbose {
				fmt.Fprintf(os.Stderr, "--- %s -p %s\n%s\n", test.line, stack, o.output)
			}
			n := outcome{}
			if *native != "" {
				n = r.run(test, *native)
			}
			fmt.Fprintf(os.Stderr, "%-14s %-60s %s\n", stack, test.line, o.text(n, t.native))
			t.add(stack, test, o, n)
		}
	}
	t.print(os.Stdout)
	if t.worse > 0 {
		os.Exit(1)
	}
}

// check finds missing files before a test runs. The loader would silently replace a missing library by the system's.
func check(bin, ours, native string) error {
	if bin == "" {
		return fmt.Errorf("-bin is required: the folder of libfabric's fabtests")
	}
	if _, err := os.Stat(filepath.Join(bin, "runfabtests.sh")); err != nil {
		return fmt.Errorf("-bin: %w", err)
	}
	for _, dir := range []string{ours, native} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "libfabric.so.1")); err != nil {
			return fmt.Errorf("%w (make -C cmd/libfabric builds ours)", err)
		}
	}
	return nil
}
