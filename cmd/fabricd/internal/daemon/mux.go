package daemon

import "net/http"

// Mux is a ServeMux that knows what was added.
type Mux struct {
	*http.ServeMux
	patterns []string
}

// NewMux makes an empty one.
func NewMux() *Mux { return &Mux{ServeMux: http.NewServeMux()} }

// Handle is http.ServeMux's.
func (m *Mux) Handle(pattern string, h http.Handler) {
	m.ServeMux.Handle(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc is http.ServeMux's.
func (m *Mux) HandleFunc(pattern string, f func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(f))
}

// Patterns are those that were added, in that order.
func (m *Mux) Patterns() []string { return m.patterns }
