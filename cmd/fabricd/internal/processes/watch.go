package processes

import (
	"context"
	"log/slog"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
)

// This file has the watchdog: it logs a stall once when it begins, and once when it ends.

// stallKey identifies a stall.
type stallKey struct {
	pid, uid                    int
	what, provider, local, peer string
}

// maxWatched bounds the number of logged stalls. Further ones are shown, but not logged.
const maxWatched = 4096

// watch checks all stalls every lookEvery. It does not ask processes whose figures a client has requested
// meanwhile.
func (p *part) watch(ctx context.Context) {
	known := map[stallKey]time.Time{}
	for pause(ctx, lookEvery) {
		p.t.refresh(ctx, lookEvery*3/4)
		known = p.compare(known)
	}
}

// compare logs new stalls and ended ones, and returns the present ones.
func (p *part) compare(known map[stallKey]time.Time) map[stallKey]time.Time {
	now := map[stallKey]time.Time{}
	users := map[int]int{} // number of stalls by process
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
			p.said.Log(p.log, k.uid, slog.LevelInfo, "makes progress again, or has ended", "pid", k.pid, "what", k.what, "provider", k.provider, "local", k.local, "peer", k.peer, "after", time.Since(since).Round(time.Millisecond))
		}
	}
	return now
}
