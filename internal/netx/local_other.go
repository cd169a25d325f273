//go:build !linux || fabricbasic

package netx

import "golang.org/x/sys/unix"

// HasLocal says whether LocalListen and LocalConnect can work here: the abstract name space is Linux's.
const HasLocal = false

// LocalListen fails with unix.ENOSYS, and so do the others.
func LocalListen(string, int) (FD, error) { return NoFD, unix.ENOSYS }

// LocalConnect fails.
func LocalConnect(string) (FD, error) { return NoFD, unix.ENOSYS }

// LocalAccept fails.
func LocalAccept(FD) (FD, error) { return NoFD, unix.ENOSYS }

// SendWith fails.
func SendWith(FD, []byte, FD) (int, error) { return 0, unix.ENOSYS }

// RecvWith fails.
func RecvWith(FD, []byte) (int, FD, error) { return 0, NoFD, unix.ENOSYS }

// PeerOf fails.
func PeerOf(FD) (Peer, error) { return Peer{}, unix.ENOSYS }

// PeerProcess fails.
func PeerProcess(FD, Peer) (FD, error) { return NoFD, unix.ENOSYS }

// Alive is false.
func Alive(FD) bool { return false }

// Peek fails.
func Peek(FD) (int, error) { return 0, unix.ENOSYS }

// Namespace fails.
func Namespace(FD) (uint64, error) { return 0, unix.ENOSYS }
