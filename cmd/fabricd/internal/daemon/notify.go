package daemon

import (
	"context"
	"log/slog"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// notify sends the daemon's state to systemd (sd_notify(3)). Without systemd it does nothing.
func notify(log *slog.Logger, states ...string) {
	for _, s := range states {
		if _, err := sd.SdNotify(false, s); err != nil {
			log.Warn("systemd cannot be notified", "error", err)
		}
	}
}

// reloading announces a reload and its time (Type=notify-reload, systemd.service(5)).
func reloading(log *slog.Logger) {
	notify(log, sd.SdNotifyReloading+"\n"+sd.SdNotifyMonotonicUsec())
}

// feedWatchdog tells systemd that the daemon is alive, at the interval that WatchdogSec= demands, as long as alive
// returns.
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
