//go:build !linux

package emulate

import (
	"log/slog"

	"gofabric/cmd/fabricd/internal/emulate/fabric"
)

// keeper does nothing where there are no nodes.
type keeper struct{}

func newKeeper(*fabric.Fabric, *slog.Logger) (*keeper, error) { return &keeper{}, nil }

func (*keeper) close() error { return nil }
