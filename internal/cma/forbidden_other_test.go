//go:build !linux

package cma

import (
	"bufio"
	"os/exec"
	"testing"
)

// forbidden is not reached where nothing is copied at all.
func forbidden(t *testing.T, _ int, _ uint64) { t.Fatal("Copy failed where it is not offered") }

// There are no such children.
func become(*testing.T, *exec.Cmd, int) {}
func double()                           {}
func show(*bufio.Scanner)               {}
