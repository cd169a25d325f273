package fabricd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gofabric/internal/fabricd/api"
)

// bare sends a request exactly as given, ends its direction with shutdown(2), and returns the answer.
func bare(t *testing.T, dir, method, path, body string) (status int, answer []byte) {
	t.Helper()
	c := dial(t, dir)
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path,
		len(body), body)
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer r.Body.Close()
	answer, err = io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r.StatusCode, answer
}

// TestRefusals checks that errors are reported in JSON, that a refused request changes nothing, and that no path is
// redirected.
func TestRefusals(t *testing.T) {
	dir := newDir(t)
	start(t, dir)
	const good = `{"address":"a"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/nope", "", 404, "there is no GET /nope"},
		{"POST", "/v1/names/a", good, 405, "there is DELETE, GET, HEAD, PUT"},
		{"PUT", "/v1/names/a/../b", good, 400, "dots"},
		{"PUT", "/v1/names//b", good, 400, "empty"},
		{"DELETE", "/v1/names/../kv/k", "", 400, "dots"},
		{"PUT", "/v1/names/a%2f..%2fb", good, 400, "dots"},
		{"PUT", "/v1/names/b", good + "}", 400, "more than one JSON value"},
		{"PUT", "/v1/names/b", "", 400, "the body is empty"},
		{"PUT", "/v1/names/b", "{\"address\":\"\xff\"}", 400, "not UTF-8"},
		{"PUT", "/v1/names/b", `{"address":"a","lease":"0s"}`, 400, "end at once"},
		{"PUT", "/v1/kv/b", `{"value":"","lease":"0"}`, 400, "end at once"},
		{"GET", "/v1/watch?from=1000000", "", 410, "another directory"},
	} {
		status, answer := bare(t, dir, c.method, c.path, c.body)
		var e api.Error
		if err := json.Unmarshal(answer, &e); err != nil || e.Status != c.status || status != c.status ||
			!strings.Contains(e.Error(), c.says) {
			t.Errorf("%s %s %s: %d %s, want %d and %q; %v", c.method, c.path, c.body,
				status, answer, c.status, c.says, err)
		}
	}
	if status, answer := bare(t, dir, "GET", "/v1/names", ""); status != 200 ||
		!bytes.Contains(answer, []byte(`"names":[]`)) {
		t.Errorf("after the refused requests the name is there: %d %s", status, answer)
	}
}

// TestHalfClosed checks that a client that has ended its direction and only reads gets its answer.
func TestHalfClosed(t *testing.T) {
	dir := newDir(t)
	start(t, dir)
	for i := range 20 { // whether the server sees the end before it answers depends on timing
		if status, answer := bare(t, dir, "PUT", fmt.Sprint("/v1/names/", i),
			`{"address":"a","lease":"30s"}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if status, answer := bare(t, dir, "PUT", fmt.Sprint("/v1/kv/", i), `{"value":"QQ=="}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if status, answer := bare(t, dir, "GET", fmt.Sprint("/v1/kv/", i), ""); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if status, answer := bare(t, dir, "POST", fmt.Sprint("/v1/fence/", i), `{"rank":0,"size":1}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if status, answer := bare(t, dir, "GET", "/v1/names", ""); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
}
