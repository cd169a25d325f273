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
	for pattern, handle := range map[string]http.HandlerFunc{
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

// owned restricts a handler to the daemon's own user and root.
func (p *part) owned(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !daemon.CallerOf(r).Root(p.uid) {
			daemon.Refuse(w, http.StatusForbidden, "send the request as the user that runs fabricd emulate, or as root", "only the user that runs fabricd emulate and root may change the emulated fabric")
			return
		}
		handle(w, r)
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

// answer answers with v, or with the error.
func answer(w http.ResponseWriter, v any, err error) {
	if missing := (*fabric.NotThere)(nil); errors.As(err, &missing) {
		daemon.Refuse(w, http.StatusNotFound, "GET /v1/emulation lists the nodes and links", "%v", err)
		return
	}
	if err != nil {
		daemon.Refuse(w, http.StatusBadRequest, "", "%v", err)
		return
	}
	daemon.Answer(w, v)
}

func (p *part) changeLink(w http.ResponseWriter, r *http.Request) {
	var c api.LinkChange
	if !daemon.Read(w, r, &c) {
		return
	}
	switch c.Direction {
	case "", topology.Both, topology.AB, topology.BA:
	default:
		daemon.Refuse(w, http.StatusBadRequest, "", "direction %q: it can be both, ab or ba", c.Direction)
		return
	}
	id := r.PathValue("id")
	err := p.fabric.Change(id, c.Direction, c.Up, func(f link.Faults) (link.Faults, error) {
		if c.Faults == nil {
			return f, nil
		}
		return fabric.ApplyChange(f, c.Faults)
	})
	p.changed(w, err)
}

func (p *part) partition(w http.ResponseWriter, r *http.Request) {
	var c api.Partition
	if !daemon.Read(w, r, &c) {
		return
	}
	p.changed(w, p.fabric.Partition(c.Groups))
}

func (p *part) heal(w http.ResponseWriter, _ *http.Request) { p.changed(w, p.fabric.Partition(nil)) }

// changed answers with the present state of the fabric.
func (p *part) changed(w http.ResponseWriter, err error) {
	if err != nil {
		answer(w, nil, err)
		return
	}
	daemon.Answer(w, p.state())
}

func (p *part) capture(w http.ResponseWriter, r *http.Request) {
	if daemon.CallerOf(r).Remote {
		daemon.Refuse(w, http.StatusForbidden, "run fabricd capture on this machine", "a capture is written on this machine, on request from this machine only")
		return
	}
	var c api.Capture
	if !daemon.Read(w, r, &c) {
		return
	}
	if !filepath.IsAbs(c.File) {
		daemon.Refuse(w, http.StatusBadRequest, "", "give the absolute path of the capture's file, not %q", c.File)
		return
	}
	err := p.fabric.Capture(r.PathValue("id"), c.File, c.Point, func() (io.WriteCloser, error) {
		return os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644) // without O_NONBLOCK, the open of a pipe waits for a reader
	})
	if err != nil {
		answer(w, nil, err)
		return
	}
	daemon.Answer(w, c)
}

func (p *part) endCapture(w http.ResponseWriter, r *http.Request) {
	c, err := p.fabric.EndCapture(r.PathValue("id"))
	answer(w, c, err)
}
