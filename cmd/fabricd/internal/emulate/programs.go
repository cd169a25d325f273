package emulate

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd/api"
)

// program sends a caller the way into a node, and keeps the connection open while the caller's program runs there.
// The end of the connection tells either side about the end of the other.
func (p *part) program(w http.ResponseWriter, r *http.Request) (any, error) {
	if daemon.CallerOf(r).Remote {
		return nil, daemon.Refusal(http.StatusForbidden, "run fabricd exec on this machine", "programs in nodes can be started on this machine only")
	}
	node := r.PathValue("name")
	file, err := p.fabric.Namespace(node)
	if err != nil {
		return nil, err
	}
	if !p.enter(node) {
		return nil, daemon.Refusal(http.StatusServiceUnavailable, "", "the fabric is ending")
	}
	defer p.leave(node)
	line := api.Program{Net: file}
	if p.own {
		line.User = "/proc/" + strconv.Itoa(os.Getpid()) + "/ns/user"
	}
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	if out.Encode(line) != nil || flush.Flush() != nil {
		return nil, nil
	}
	_ = flush.SetReadDeadline(time.Time{}) // no deadline while the program runs: the caller is this daemon's own user or root
	_ = flush.SetWriteDeadline(time.Time{})
	select {
	case <-r.Context().Done(): // the program has ended
	case <-p.ended:
		daemon.Extend(w, 0)
		_ = out.Encode(api.Program{End: true}) // without it, the end of the connection has the same meaning
	}
	return nil, nil
}

// enter counts a program in a node, unless the fabric is closing.
func (p *part) enter(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.programs[node]++
	p.running.Add(1)
	return true
}

func (p *part) leave(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.programs[node]--
	p.running.Done()
}
