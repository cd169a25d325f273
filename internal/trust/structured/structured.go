// Package structured makes log/slog log refusals as warnings. Programs import it for its effect.
package structured

import (
	"log/slog"

	"gofabric/internal/trust"
)

func init() { trust.SetLog(slog.Warn) }
