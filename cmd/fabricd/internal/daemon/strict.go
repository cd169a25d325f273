package daemon

import (
	"net/http"
	"strings"
)

// strict turns every refusal into an api.Error, including those that net/http writes as text. It refuses paths that
// net/http would clean and redirect, because the client would then reach another name than the one it meant.
func strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.EscapedPath(); !isClean(p) {
			Refuse(w, http.StatusBadRequest, "leave these elements out", "the path %.600q has elements that are empty, or one or two dots", p)
			return
		}
		next.ServeHTTP(&refusals{ResponseWriter: w, request: r}, r)
	})
}

// isClean reports whether a path has no empty elements, except the last, and no elements "." or "..".
func isClean(path string) bool {
	inner, ok := strings.CutPrefix(path, "/")
	if !ok || inner == "" {
		return true // CONNECT, *, /
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(inner, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// refusals turns errors that are written as text into JSON.
type refusals struct {
	http.ResponseWriter
	request *http.Request
	status  int // of an error whose text has not been written yet
	done    bool
}

// Unwrap is for http.ResponseController.
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *refusals) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *refusals) Write(b []byte) (int, error) {
	switch {
	case w.status == 0:
		return w.ResponseWriter.Write(b)
	case w.done:
		return len(b), nil
	}
	w.done = true
	message, hint := strings.TrimSpace(string(b)), ""
	switch r := w.request; w.status {
	case http.StatusNotFound:
		message = "there is no " + r.Method + " " + r.URL.Path
	case http.StatusMethodNotAllowed:
		message, hint = "there is no "+r.Method+" "+r.URL.Path, "there is "+w.Header().Get("Allow")
	}
	Refuse(w.ResponseWriter, w.status, hint, "%s", message)
	return len(b), nil
}
