//go:build !linux

package cma

import (
	"bufio"
	"os/exec"
	"testing"
)

// forbidden is not called on systems without copies.
func forbidden(t *testing.T, _ int, _ uint64) { t.Fatal("Copy failed where it is not offered") }

// become is not needed here: there are no such children.
func become(*testing.T, *exec.Cmd, int) {}
func double()                           {}
func show(*bufio.Scanner)               {}
