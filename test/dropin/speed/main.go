// Command speed runs one unmodified fi_pingpong on two libfabrics in turn. For each stack it prints the time of a
// transfer on the first one, and its ratio to the second:
//
//	make -C cmd/libfabric
//	go run ./test/dropin/speed -native /path/to/libfabric-2.x/lib
//
// Rounds on the two alternate, so that other load of the machine affects both alike. The range is that of the middle
// half of the rounds.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	ours     = flag.String("ours", "cmd/libfabric/build", "folder of the first libfabric.so.1")
	native   = flag.String("native", "", "folder of the second libfabric.so.1")
	program  = flag.String("pingpong", "fi_pingpong", "path of fi_pingpong")
	rounds   = flag.Int("rounds", 9, "rounds on each library")
	count    = flag.Int("iterations", 20000, "transfers in a round")
	size     = flag.Int("size", 64, "bytes in a transfer")
	only     = flag.String("only", "", "run this stack only, such as \"udp;ofi_rxd rdm\"")
	deadline = flag.Duration("timeout", 20*time.Second,
		"time limit of a round; over datagrams it is repeated up to three times")
)

var stacks = [][2]string{{"udp", "dgram"}, {"tcp", "msg"}, {"tcp", "rdm"},
	{"tcp;ofi_rxm", "rdm"}, {"udp;ofi_rxd", "rdm"}}

func main() {
	flag.Parse()
	dirs := []string{*ours, *native}
	for i, d := range dirs {
		abs, err := filepath.Abs(d)
		if err == nil {
			_, err = os.Stat(filepath.Join(abs, "libfabric.so.1"))
		}
		if err != nil || d == "" {
			fmt.Fprintf(os.Stderr, "speed: give a folder with a libfabric.so.1, not %q: %v\n", d, err)
			os.Exit(2)
		}
		dirs[i] = abs
	}
	fmt.Printf("%-18s %10s %10s %7s   %s\n", "stack", "usec", "native's", "ratio", "middle half")
	failed := false
	for _, s := range stacks {
		if *only != "" && *only != s[0]+" "+s[1] {
			continue
		}
		if err := compare(s, dirs); err != nil {
			fmt.Printf("%-18s %v\n", s[0]+" "+s[1], err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func compare(stack [2]string, dirs []string) error {
	var times [2][]float64
	var ratios []float64
	for r := range *rounds + 1 {
		var t [2]float64
		for k := range 2 {
			which := (r + k) % 2 // the order changes with each round
			v, err := round(stack, dirs[which])
			// If a datagram is lost, the program waits until it is killed.
			for again := 0; err != nil && again < 3 && stack[1] == "dgram"; again++ {
				v, err = round(stack, dirs[which])
			}
			if err != nil {
				return fmt.Errorf("on %s: %w", dirs[which], err)
			}
			t[which] = v
		}
		if r == 0 {
			continue // the first round warms the caches
		}
		times[0], times[1] = append(times[0], t[0]), append(times[1], t[1])
		ratios = append(ratios, t[0]/t[1])
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	slices.Sort(ratios)
	n := len(ratios)
	fmt.Printf("%-18s %10.2f %10.2f %7.2f   %.2f to %.2f\n", stack[0]+" "+stack[1], times[0][n/2], times[1][n/2],
		ratios[n/2], ratios[n/4], ratios[n-1-n/4])
	return nil
}

// round runs a server and a client on a library. It returns the microseconds of a transfer that the client measured.
func round(stack [2]string, dir string) (float64, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), *deadline)
	defer cancel()
	args := []string{"-p", stack[0], "-e", stack[1], "-I", strconv.Itoa(*count), "-S", strconv.Itoa(*size)}
	run := func(more ...string) (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.CommandContext(ctx, *program, slices.Concat(more[:2], args, more[2:])...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "FI_PROVIDER="+stack[0])
		cmd.WaitDelay = time.Second
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		return cmd, &out
	}
	server, _ := run("-B", port)
	if err := server.Start(); err != nil {
		return 0, err
	}
	defer func() { cancel(); server.Wait() }()
	for {
		client, out := run("-P", port, "127.0.0.1")
		err := client.Run()
		if err != nil && ctx.Err() == nil && strings.Contains(strings.ToLower(out.String()), "connection refused") {
			time.Sleep(20 * time.Millisecond) // the server does not listen yet
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("%w\n%s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		f := strings.Fields(lines[len(lines)-1])
		if len(f) != 8 {
			return 0, fmt.Errorf("the output has no table:\n%s", out)
		}
		return strconv.ParseFloat(f[6], 64)
	}
}
