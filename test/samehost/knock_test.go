//go:build linux

package samehost

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/shm"
	"gofabric/test/journal"
	"gofabric/test/need"
)

// knock is the main function of a process of another user. It connects to every local socket of this module in its
// network namespace, offers memory there, and waits.
func knock() error {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return err
	}
	defer f.Close()
	end, memory, err := shm.Create()
	if err != nil {
		return err
	}
	defer end.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		_, name, ok := strings.Cut(s.Text(), " @gofabric-")
		if !ok {
			continue
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if unix.Connect(fd, &unix.SockaddrUnix{Name: "@gofabric-" + name}) != nil {
			unix.Close(fd) // a connected socket, not a listener
			continue
		}
		n++
		unix.Sendmsg(fd, []byte("gofabric, or any other first bytes"), unix.UnixRights(memory), nil, 0)
	}
	fmt.Println(n)
	bufio.NewScanner(os.Stdin).Scan() // until the test is over
	return nil
}

// TestKnock has another user's process connect to the sockets at which this process listens. It is refused and logged,
// and a process of this user that connects later is accepted.
func TestKnock(t *testing.T) {
	need.Root(t, "a process of another user")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	addr, in, wait, _ := other(t, "tcp/rdm", os.Geteuid())
	ep, to := open(t, ctx, "tcp/rdm", addr, in)
	if _, shared := talk(t, ctx, ep, to); !shared { // makes this process listen at a local socket
		t.Fatal("no memory is shared with a process of the same user")
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	j, before := journal.Listen(t), journal.Refused("stream")
	count, _, _, pid := other(t, "knock", otherUser)
	if count == "0" {
		t.Fatal("there is no socket to connect to")
	}
	addr, second, wait, _ := other(t, "tcp/rdm", os.Geteuid())
	to, err := ep.Insert(addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(second, strings.TrimPrefix(ep.Name().String(), "fi_sockaddr_in://"))
	if through, shared := talk(t, ctx, ep, to); !shared || through > larges*large/2 {
		t.Errorf("a process that connects after one of another user: memory is shared: %v, %d bytes through the connection", shared, through)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	if n := journal.Refused("stream") - before; n != 1 {
		t.Errorf("%d refused", n)
	}
	j.Want("level=WARN", "it belongs to another user", fmt.Sprintf("uid=%d ", otherUser),
		fmt.Sprintf("pid=%d ", pid), "at=gofabric-", "hint=")
}
