package daemon

import (
	"context"
	"log/slog"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// notify tells systemd how the daemon is (sd_notify(3)); without systemd nobody listens.
func notify(log *slog.Logger, states ...string) {
	for _, s := range states {
		if _, err := sd.SdNotify(false, s); err != nil {
			log.Warn("systemd does not hear", "error", err)
		}
	}
}

// reloading says that a reload begins, and when (Type=notify-reload, systemd.service(5)).
func reloading(log *slog.Logger) {
	notify(log, sd.SdNotifyReloading+"\n"+sd.SdNotifyMonotonicUsec())
}

// feedWatchdog tells systemd that the daemon lives, as often as it wants to hear it (WatchdogSec=), as long as alive returns.
func feedWatchdog(ctx context.Context, log *slog.Logger, alive func()) {
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil || every == 0 {
		return
	}
	ticker := time.NewTicker(every / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			alive()
			notify(log, sd.SdNotifyWatchdog)
		case <-ctx.Done():
			return
		}
	}
}
