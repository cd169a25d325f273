//go:build !linux || fabricbasic

package netx

import "syscall"

// HasLocal reports whether LocalListen and LocalConnect can work on this system. Only Linux has the abstract
// namespace.
const HasLocal = false

// LocalListen fails with syscall.ENOSYS, and so do the others below.
func LocalListen(string, int) (FD, error) { return NoFD, syscall.ENOSYS }

// LocalConnect fails.
func LocalConnect(string) (FD, error) { return NoFD, syscall.ENOSYS }

// LocalAccept fails.
func LocalAccept(FD) (FD, error) { return NoFD, syscall.ENOSYS }

// SendWith fails.
func SendWith(FD, []byte, FD) (int, error) { return 0, syscall.ENOSYS }

// RecvWith fails.
func RecvWith(FD, []byte) (int, FD, error) { return 0, NoFD, syscall.ENOSYS }

// PeerOf fails.
func PeerOf(FD) (Peer, error) { return Peer{}, syscall.ENOSYS }

// PeerProcess fails.
func PeerProcess(FD, Peer) (FD, error) { return NoFD, syscall.ENOSYS }

// Alive is false.
func Alive(FD) bool { return false }

// Namespace fails.
func Namespace(FD) (uint64, error) { return 0, syscall.ENOSYS }
