// Package structured has refusals logged by log/slog, as warnings, in programs that import it for its effect.
package structured

import (
	"log/slog"

	"gofabric/internal/trust"
)

func init() { trust.SetLog(slog.Warn) }
