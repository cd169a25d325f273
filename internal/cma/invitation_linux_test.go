package cma

// This file tests that some processes are not read: a process that is not the one of the connection, a process of
// another user, and a process with the PID of one that has died.

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/internal/netx"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
	"gofabric/test/journal"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// otherUser is the id of another user.
const otherUser = 4711

// become makes a command run with the rights of a user, who may not read the directory of the program.
func become(t *testing.T, cmd *exec.Cmd, uid int) {
	t.Helper()
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	cmd.Path, cmd.Dir, cmd.ExtraFiles = "/proc/self/fd/3", "/", []*os.File{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

func init() { system.become, system.double, system.show = become, double, show }

// show is the child that answers an invitation. It reads the challenge, the place, and what to send after the magic
// and the challenge, all in hex, and whether to ignore which user listens.
func show(in *bufio.Scanner) {
	var c wire.Challenge
	var rest []byte
	for _, b := range [][]byte{c.Seal[:], c.Place[:]} {
		in.Scan()
		hex.Decode(b, in.Bytes())
	}
	in.Scan()
	rest, _ = hex.DecodeString(in.Text())
	in.Scan()
	if in.Text() == "careful" {
		e := parseEnds(rest)
		Copier{}.Prove(&c, &e)
	} else if fd, err := netx.LocalConnect(socketName(&c)); err == nil {
		netx.Send(fd, append(append([]byte(proofMagic), c.Seal[:]...), rest...), false)
		netx.Close(fd)
	}
	shownCells = append(shownCells, &c.Seal)
	fmt.Println(Copier{}.Address(c.Seal[:]), 0, 0)
}

// shownCells are challenges that the child keeps in its memory.
var shownCells []*[engine.SealLen]byte

// show makes the child answer an invitation. how is careful, or another word. It returns the address of the child's
// challenge.
func (c *child) show(ch *wire.Challenge, e *engine.Ends, how string) (at uint64) {
	c.t.Helper()
	fmt.Fprintf(c.in, "show\n%x\n%x\n%x\n%s\n", ch.Seal, ch.Place, appendEnds(nil, e), how)
	line, err := c.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &at)
	}
	if err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	return at
}

func (c *child) pid() uint32 { return uint32(c.cmd.Process.Pid) }

func refused() uint64 { return journal.Refused("copies") }

// ends returns the two ends of a connection as each of its sides sees them.
func ends(local, peer byte) (mine, theirs engine.Ends) {
	mine = engine.Ends{Space: 7, Local: [engine.EndLen]byte{0: 1, 17: local}, Peer: [engine.EndLen]byte{0: 2, 17: peer}}
	return mine, engine.Ends{Space: 7, Local: mine.Peer, Peer: mine.Local}
}

func invite(t *testing.T) engine.Invitation {
	t.Helper()
	v := Copier{}.Invite()
	if v == nil {
		t.Fatal("no socket")
	}
	t.Cleanup(v.Close)
	return v
}

func TestInvitation(t *testing.T) {
	c := startChild(t)
	mine, theirs := ends(1, 2)
	anywhere := mine
	anywhere.Local = [engine.EndLen]byte{10: 0xff, 11: 0xff, 17: 1}
	same := func(*engine.Ends, *engine.Ends, *uint32) {}
	for name, s := range map[string]struct {
		change  func(mine, theirs *engine.Ends, pid *uint32)
		at      func(shown uint64) uint64
		want    bool
		refused uint64
	}{
		"as it should be":      {same, nil, true, 0},
		"bound to any address": {func(mine, _ *engine.Ends, _ *uint32) { *mine = anywhere }, nil, true, 0},
		"it is so, too":        {func(_, theirs *engine.Ends, _ *uint32) { clear(theirs.Local[:16]) }, nil, true, 0},
		"another port":         {func(_, theirs *engine.Ends, _ *uint32) { theirs.Local[17]++ }, nil, false, 1},
		"another port, any": {func(mine, theirs *engine.Ends, _ *uint32) { *mine = anywhere; theirs.Peer[17]++ },
			nil, false, 1},
		"another address":         {func(_, theirs *engine.Ends, _ *uint32) { theirs.Peer[0]++ }, nil, false, 1},
		"no ports":                {func(mine, theirs *engine.Ends, _ *uint32) { mine.Local[17], theirs.Peer[17] = 0, 0 }, nil, false, 1},
		"another space":           {func(_, theirs *engine.Ends, _ *uint32) { theirs.Space++ }, nil, false, 1},
		"another's number":        {func(_, _ *engine.Ends, pid *uint32) { *pid = 1 }, nil, false, 1},
		"our number":              {func(_, _ *engine.Ends, pid *uint32) { *pid = uint32(os.Getpid()) }, nil, false, 1},
		"no number":               {func(_, _ *engine.Ends, pid *uint32) { *pid = 0 }, nil, false, 1},
		"the challenge elsewhere": {same, func(shown uint64) uint64 { return shown + 64 }, false, 0},
		"no memory there":         {same, func(uint64) uint64 { return 8 }, false, 0},
	} {
		v, before := invite(t), refused()
		mine, theirs, pid := mine, theirs, c.pid()
		s.change(&mine, &theirs, &pid)
		at := c.show(v.Challenge(), &theirs, "careful")
		if s.at != nil {
			at = s.at(at)
		}
		if got := v.Verify(&mine, pid, at); got != s.want {
			if s.want {
				forbidden(t, int(pid), at)
			}
			t.Errorf("%s: %v", name, got)
		}
		if n := refused() - before; n != s.refused {
			t.Errorf("%s: %d refused", name, n)
		}
		if v.Verify(&mine, pid, at) {
			t.Errorf("%s: twice", name)
		}
	}
}

// Connections that send invalid data, or none, do not keep out the peer behind them.
func TestInvitationInvalid(t *testing.T) {
	c := startChild(t)
	mine, theirs := ends(1, 2)
	v := invite(t)
	ch := v.Challenge()
	good := appendEnds(append([]byte(proofMagic), ch.Seal[:]...), &theirs)
	for _, b := range [][]byte{nil, good[:proofLen-1], append(good[:proofLen:proofLen], 0),
		append([]byte("GOFABRIC"), good[8:]...), append(good[:8:8], make([]byte, proofLen-8)...)} {
		fd, err := netx.LocalConnect(socketName(ch))
		if err != nil {
			t.Fatal(err)
		}
		defer netx.Close(fd)
		if len(b) > 0 {
			netx.Send(fd, b, false)
		}
	}
	if at := c.show(ch, &theirs, "careful"); !v.Verify(&mine, c.pid(), at) {
		forbidden(t, int(c.pid()), at)
	}
	v = invite(t)
	for { // as many as the backlog takes
		fd, err := netx.LocalConnect(socketName(v.Challenge()))
		if err != nil {
			break
		}
		defer netx.Close(fd)
	}
	if at := c.show(v.Challenge(), &theirs, "careful"); v.Verify(&mine, c.pid(), at) {
		t.Error("it has met a peer for which the queue had no room")
	}
}

// There are no more sockets than invitationsMax, however many peers begin the exchange and do not continue.
func TestInvitationMost(t *testing.T) {
	copier(t)
	first := invite(t)
	for range invitationsMax {
		invite(t)
	}
	invitations.Lock()
	n := len(invitations.open)
	invitations.Unlock()
	if n != invitationsMax {
		t.Errorf("%d are open", n)
	}
	if fd, err := netx.LocalConnect(socketName(first.Challenge())); err != syscall.ECONNREFUSED {
		netx.Close(fd)
		t.Errorf("the oldest is still open: %v", err)
	}
	mine, _ := ends(1, 2)
	if first.Verify(&mine, 1, 8) {
		t.Error("it has met a peer")
	}
}

// TestInvitationForeign: a process of another user cannot make root read memory, neither its own nor that of a
// process of root that it names. It also sends root nothing. Each attempt is logged.
func TestInvitationForeign(t *testing.T) {
	need.Root(t, "acting as another user")
	victim, c := startChild(t), startChildOf(t, otherUser)
	victim.tell("lend")
	mine, theirs := ends(1, 2)
	for name, pid := range map[string]uint32{"itself": c.pid(), "a victim": victim.pid(), "us": uint32(os.Getpid())} {
		j, before := journal.Listen(t), refused()
		v := invite(t)
		at := c.show(v.Challenge(), &theirs, "regardless")
		if v.Verify(&mine, pid, at) {
			t.Errorf("another user's process has %s read", name)
		}
		if n := refused() - before; n != 1 {
			t.Errorf("%s: %d refused", name, n)
		}
		j.Want("level=WARN", "it belongs to another user", fmt.Sprintf("uid=%d ", otherUser),
			fmt.Sprintf("pid=%d ", c.pid()), "at="+socketPrefix, "hint=")
		v = invite(t)
		c.show(v.Challenge(), &theirs, "careful")
		if fd, err := netx.LocalAccept(v.(*invitation).fd); err != nil {
			t.Errorf("%s: it has not even come: %v", name, err)
		} else if n, errno := netx.Recv(fd, make([]byte, 1)); n != 0 || errno != 0 {
			t.Errorf("it has sent %d bytes to another user, %v", n, errno)
		}
	}
	// The reverse: root's own process answers, and the connection names another PID.
	j, v := journal.Listen(t), invite(t)
	if at := victim.show(v.Challenge(), &theirs, "careful"); v.Verify(&mine, c.pid(), at) {
		t.Error("the connection's claim of another PID was accepted")
	}
	j.Want(fmt.Sprintf("the connection says that it is process %d", c.pid()), fmt.Sprintf("pid=%d ", victim.pid()))
}

// doubled kills the child, which has left a copy of itself, and waits until the copy has its PID.
func (c *child) doubled() {
	t, pid := c.t, c.cmd.Process.Pid
	t.Helper()
	c.tell("double") // it makes the copy before it answers
	c.cmd.Process.Kill()
	c.cmd.Wait()
	var copyFD int
	var err error
	wait.Until(t, fmt.Sprint("another process has the number ", pid), func() bool {
		copyFD, err = unix.PidfdOpen(pid, 0)
		return err == nil
	})
	t.Cleanup(func() {
		unix.PidfdSendSignal(copyFD, unix.SIGKILL, nil, 0)
		unix.Close(copyFD)
	})
}

// A process that dies may leave a copy of its memory, and the copy may get its PID. The copy has everything that
// the process lent, at the same addresses, and may have changed it since. But it has no seals.
func TestReusedNumber(t *testing.T) {
	need.Root(t, "choosing the number of a process")
	c := startChild(t)
	c.tell("lend")
	if (Copier{}).Copy(&c.l) != engine.Copied {
		forbidden(t, c.cmd.Process.Pid, c.l.From[0].Addr)
	}
	l := c.l
	c.doubled()
	there := make([]byte, len(payload()))
	vec := []unix.Iovec{{Base: &there[0]}}
	vec[0].SetLen(len(there))
	if n, err := unix.ProcessVMReadv(c.cmd.Process.Pid, vec,
		[]unix.RemoteIovec{{Base: uintptr(l.From[0].Addr), Len: len(there)}}, 0); n != len(there) || !bytes.Equal(there,
		payload()) {
		t.Fatalf("the copy of the process does not have the lent memory: %d bytes, %v", n, err)
	}
	l.Into = [][]byte{there}
	if got := (Copier{}).Copy(&l); got != engine.Unsealed {
		t.Errorf("memory of a copy of the process was accepted: %v", got)
	}
}

// A process that has answered an invitation and died is not read, although another process has its PID, and a copy
// of its memory with the challenge.
func TestInvitationReusedNumber(t *testing.T) {
	need.Root(t, "choosing the number of a process")
	c := startChild(t)
	mine, theirs := ends(1, 2)
	v := invite(t)
	at := c.show(v.Challenge(), &theirs, "careful")
	c.doubled()
	l := engine.CMARequest{PID: c.pid(), Seal: v.Challenge().Seal, SealAt: at}
	if got := readSealed(&l); got != engine.Copied {
		t.Fatalf("the copy has no copy of the challenge: %v", got)
	}
	if v.Verify(&mine, c.pid(), at) {
		t.Error("the copy was accepted as the process that had its PID")
	}
}
