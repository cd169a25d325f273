package processes

import (
	"context"
	"log/slog"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
)

// The watchdog: what makes no progress is told of once when it begins, and once when it ends.

// stallKey names a stall.
type stallKey struct {
	pid, uid                    int
	what, provider, local, peer string
}

// maxWatched bounds how many are told apart; more are shown, but not logged.
const maxWatched = 4096

// watch looks at all stalls every lookEvery. Processes whose figures somebody else has asked for since the last time are not asked once more.
func (p *part) watch(ctx context.Context) {
	known := map[stallKey]time.Time{}
	for pause(ctx, lookEvery) {
		p.t.refresh(ctx, lookEvery*3/4)
		known = p.compare(known)
	}
}

// compare logs what is new among the stalls of now, and what has gone; it returns those of now.
func (p *part) compare(known map[stallKey]time.Time) map[stallKey]time.Time {
	now := map[stallKey]time.Time{}
	users := map[int]int{} // by process
	for _, o := range p.t.processes() {
		users[o.PID] = o.UID
	}
	for _, s := range p.t.stuck(daemon.Caller{}, p.owner).Stuck {
		k := stallKey{s.PID, users[s.PID], s.What, s.Provider, s.Local, s.Peer}
		if len(now) >= maxWatched {
			break
		}
		now[k] = s.Since
		if _, ok := known[k]; ok {
			continue
		}
		p.c.stalls.WithLabelValues(s.What).Inc()
		p.said.Log(p.log, users[s.PID], slog.LevelWarn, "no progress", "pid", s.PID, "name", s.Name, "what", s.What, "provider", s.Provider, "interface", s.Interface, "local", s.Local, "peer", s.Peer,
			"peer_pid", s.PeerPID, "state", s.State, "since", s.Since)
	}
	for k, since := range known {
		if _, still := now[k]; !still {
			p.said.Log(p.log, k.uid, slog.LevelInfo, "progress again, or ended", "pid", k.pid, "what", k.what, "provider", k.provider, "local", k.local, "peer", k.peer, "after", time.Since(since).Round(time.Millisecond))
		}
	}
	return now
}
