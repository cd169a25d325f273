package web

import (
	"bytes"
	"context"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
)

//go:embed page
var files embed.FS

// policy lets the page load its own files and call its own daemon. No other site may embed it or receive its forms.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the media types of the files. The system's may differ.
var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// part is the daemon.Part.
type part struct{}

// New returns the part.
func New() daemon.Part { return part{} }

// Name implements daemon.Part.
func (part) Name() string { return "page" }

// Start implements daemon.Part.
func (part) Start(_ context.Context, s *daemon.Site) error {
	s.Public("GET /{$}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, "index.html") }))
	s.Public("GET /page/{file}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, r.PathValue("file")) }))
	return nil
}

// Reload implements daemon.Part. The part has no settings.
func (part) Reload(*daemon.Config) error { return nil }

// Close implements daemon.Part.
func (part) Close() error { return nil }

// serve answers with a file of the page.
func serve(w http.ResponseWriter, r *http.Request, file string) {
	data, err := fs.ReadFile(files, "page/"+file)
	if err != nil {
		daemon.Refuse(w, http.StatusNotFound, "", "the page has no file %q", file)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(file)])
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // the next daemon at this address may have another version
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
