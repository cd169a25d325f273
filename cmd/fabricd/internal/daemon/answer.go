package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"gofabric/internal/fabricd/api"
)

// maxRequest is the longest body of a request, in bytes.
const maxRequest = 1 << 20

// Answer writes v as JSON.
func Answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has closed the connection
}

// Refuse answers with an error. hint says what to do, and may be empty.
func Refuse(w http.ResponseWriter, status int, hint, format string, args ...any) {
	Reply(w, nil, Refusal(status, hint, format, args...))
}

// Refusal is Refuse as an error, for Reply.
func Refusal(status int, hint, format string, args ...any) error {
	return &api.Error{Status: status, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Handler returns the answer to a request, for Reply.
type Handler func(http.ResponseWriter, *http.Request) (any, error)

// Reply answers with v, or with err if it is not nil. An error that is not a Refusal is the daemon's own fault.
func Reply(w http.ResponseWriter, v any, err error) {
	if err == nil {
		Answer(w, v)
		return
	}
	refusal := &api.Error{Status: http.StatusInternalServerError, Message: err.Error()}
	errors.As(err, &refusal)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refusal.Status)
	_ = json.NewEncoder(w).Encode(refusal)
}

// Read decodes the request's body into v. Unknown fields, more than one value, and invalid UTF-8 are errors. An error
// is a Refusal.
func Read(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		err = decode(data, v)
	}
	if err == nil {
		return nil
	}
	status := http.StatusBadRequest
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		status = http.StatusRequestEntityTooLarge
	}
	return Refusal(status, "", "the body of %s %s: %v", r.Method, r.URL.Path, err)
}

func decode(data []byte, v any) error {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the body is empty")
	case !utf8.Valid(data):
		return errors.New("the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		return errors.New("the body has more than one JSON value")
	}
	return nil
}
