package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"gofabric/internal/fabricd/api"
)

// maxRequest is the longest body of a request, bytes.
const maxRequest = 1 << 20

// Answer writes v as JSON.
func Answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away
}

// Refuse answers with an error; hint says what to do, and may be empty.
func Refuse(w http.ResponseWriter, status int, hint, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Error{Status: status, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// Read decodes the request's body into v, strictly: unknown fields, and more than one value, are errors. It answers itself if it returns false.
func Read(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("more than one JSON value")
	}
	if err == nil {
		return true
	}
	status := http.StatusBadRequest
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		status = http.StatusRequestEntityTooLarge
	}
	Refuse(w, status, "", "the body of %s %s: %v", r.Method, r.URL.Path, err)
	return false
}
