package emulate

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/emulate/fabric"
	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/fabricd/api"
)

// routes adds the API routes of the part.
func (p *part) routes(mux *daemon.Mux) {
	mux.HandleFunc("GET /v1/emulation", daemon.BulkFunc(func(w http.ResponseWriter, _ *http.Request) { daemon.Answer(w, p.state()) }))
	for pattern, handle := range map[string]daemon.Handler{
		"PATCH /v1/emulation/links/{id}":           p.changeLink,
		"PUT /v1/emulation/partition":              p.partition,
		"DELETE /v1/emulation/partition":           p.heal,
		"POST /v1/emulation/links/{id}/capture":    p.capture,
		"DELETE /v1/emulation/links/{id}/capture":  p.endCapture,
		"POST /v1/emulation/nodes/{name}/programs": p.program,
	} {
		mux.HandleFunc(pattern, p.owned(handle))
	}
}

// owned restricts a handler to the daemon's own user and root. A handler that has written an answer itself returns
// nil, nil.
func (p *part) owned(handle daemon.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !daemon.CallerOf(r).Root(p.uid) {
			daemon.Refuse(w, http.StatusForbidden, "send the request as the user that runs fabricd emulate, or as root", "only the user that runs fabricd emulate and root may change the emulated fabric")
			return
		}
		if v, err := handle(w, r); v != nil || err != nil {
			daemon.Reply(w, v, refusal(err))
		}
	}
}

// state returns the fabric's state with the numbers of programs.
func (p *part) state() api.Emulation {
	e := p.fabric.State()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range e.Nodes {
		e.Nodes[i].Programs = p.programs[e.Nodes[i].Name]
	}
	return e
}

// refusal gives an error of the fabric its HTTP status.
func refusal(err error) error {
	refused, missing := (*api.Error)(nil), (*fabric.NotThere)(nil)
	switch {
	case err == nil || errors.As(err, &refused):
		return err
	case errors.As(err, &missing):
		return daemon.Refusal(http.StatusNotFound, "GET /v1/emulation lists the nodes and links", "%v", err)
	}
	return daemon.Refusal(http.StatusBadRequest, "", "%v", err)
}

func (p *part) changeLink(w http.ResponseWriter, r *http.Request) (any, error) {
	var c api.LinkChange
	if err := daemon.Read(w, r, &c); err != nil {
		return nil, err
	}
	switch c.Direction {
	case "", topology.Both, topology.AB, topology.BA:
	default:
		return nil, daemon.Refusal(http.StatusBadRequest, "", "direction %q: it can be both, ab or ba", c.Direction)
	}
	id := r.PathValue("id")
	err := p.fabric.Change(id, c.Direction, c.Up, func(f link.Faults) (link.Faults, error) {
		if c.Faults == nil {
			return f, nil
		}
		return fabric.ApplyChange(f, c.Faults)
	})
	return p.state(), err
}

func (p *part) partition(w http.ResponseWriter, r *http.Request) (any, error) {
	var c api.Partition
	if err := daemon.Read(w, r, &c); err != nil {
		return nil, err
	}
	err := p.fabric.Partition(c.Groups)
	return p.state(), err
}

func (p *part) heal(http.ResponseWriter, *http.Request) (any, error) {
	err := p.fabric.Partition(nil)
	return p.state(), err
}

func (p *part) capture(w http.ResponseWriter, r *http.Request) (any, error) {
	if daemon.CallerOf(r).Remote {
		return nil, daemon.Refusal(http.StatusForbidden, "run fabricd capture on this machine", "a capture is written on this machine, on request from this machine only")
	}
	var c api.Capture
	if err := daemon.Read(w, r, &c); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(c.File) {
		return nil, daemon.Refusal(http.StatusBadRequest, "", "give the absolute path of the capture's file, not %q", c.File)
	}
	err := p.fabric.Capture(r.PathValue("id"), c.File, c.Point, func() (io.WriteCloser, error) {
		return os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644) // without O_NONBLOCK, the open of a pipe waits for a reader
	})
	return c, err
}

func (p *part) endCapture(_ http.ResponseWriter, r *http.Request) (any, error) {
	return p.fabric.EndCapture(r.PathValue("id"))
}
