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

// knock is the process of another user that connects to every local socket of this module that there is in its network name space, offers memory there, and stays.
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
			unix.Close(fd) // that one was connected, and is no listener
			continue
		}
		n++
		unix.Sendmsg(fd, []byte("gofabric, or whatever else the first bytes are"), unix.UnixRights(memory), nil, 0)
	}
	fmt.Println(n)
	bufio.NewScanner(os.Stdin).Scan() // until the test is over
	return nil
}

// TestKnock has another user's process connect to the sockets that this one listens at. It gets nowhere, it is logged, and who comes behind it is let in.
func TestKnock(t *testing.T) {
	need.Root(t, "being somebody else")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	addr, in, wait, _ := other(t, "tcp/rdm", os.Geteuid())
	ep, to := open(t, ctx, "tcp/rdm", addr, in)
	if _, shared := talk(t, ctx, ep, to); !shared { // so that there is a socket
		t.Fatal("no memory is shared with a process of the same user")
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	j, before := journal.Listen(t), journal.Refused("stream")
	count, _, _, pid := other(t, "knock", stranger)
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
		t.Errorf("who comes behind a stranger: memory is shared %v, %d bytes through the connection", shared, through)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	if n := journal.Refused("stream") - before; n != 1 {
		t.Errorf("%d refused", n)
	}
	j.Want("level=WARN", "it belongs to another user", fmt.Sprintf("uid=%d ", stranger), fmt.Sprintf("pid=%d ", pid), "at=gofabric-", "hint=")
}
