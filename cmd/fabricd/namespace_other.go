//go:build !linux

package main

import (
	"context"
	"errors"
	"os/exec"

	"github.com/spf13/cobra"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd/api"
)

// errLinux is returned on other systems, where fabric.New says what is available instead.
var errLinux = errors.New("only Linux has network namespaces")

func inOwnNamespace(context.Context, *daemon.Config) (bool, error) { return false, nil }

func runProgram(*exec.Cmd, <-chan struct{}) error { return errLinux }

func entering(*api.Program, []string) (*exec.Cmd, error) { return nil, errLinux }

func newEnterCommand() *cobra.Command { return &cobra.Command{Use: "enter", Hidden: true} }

func newKeepCommand() *cobra.Command { return &cobra.Command{Use: "keep", Hidden: true} }
