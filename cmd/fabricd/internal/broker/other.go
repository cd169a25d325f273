//go:build !linux

package broker

import (
	"context"

	"gofabric/cmd/fabricd/internal/daemon"
)

// part has nothing to lend: AF_XDP is part of Linux only.
type part struct{}

// New makes the part.
func New() daemon.Part { return part{} }

func (part) Name() string                              { return "xdp" }
func (part) Start(context.Context, *daemon.Site) error { return nil }
func (part) Reload(*daemon.Config) error               { return nil }
func (part) Close() error                              { return nil }
