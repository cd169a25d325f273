package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"gofabric/internal/fabricd"
)

// ErrNoDaemon means that there is no daemon on this node.
var ErrNoDaemon = errors.New("no fabricd is running on this node (start one with: fabricd run)")

// maxBody is the longest answer that a Client reads, bytes.
const maxBody = 16 << 20

// longestWait is the longest time until a daemon begins an answer. A request may make it wait for up to a minute.
const longestWait = 2 * time.Minute

// Client sends requests to a daemon over its Unix socket. It is safe for concurrent use.
type Client struct {
	path string
	http http.Client
}

// Dial returns a client of the daemon whose API socket is path, or of this node's if path is "". It sends nothing.
func Dial(path string) (*Client, error) {
	if path == "" {
		if path = fabricd.Find(fabricd.API); path == "" {
			return nil, ErrNoDaemon
		}
	}
	c := &Client{path: path}
	c.http.Transport = &http.Transport{
		ResponseHeaderTimeout: longestWait,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Error is the answer of a daemon that has failed. It is the body of every answer that is not a success.
type Error struct {
	Status  int    `json:"status"` // HTTP status code
	Message string `json:"error"`
	Hint    string `json:"hint,omitempty"` // advice
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Do sends in as JSON, unless it is nil, and reads the answer into out, unless that is nil. If the answer is not a
// success, the error is an *Error.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	body, err := c.Open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if out == nil {
		// HTTP reuses a connection only if the answer was read to its end.
		_, _ = io.CopyN(io.Discard, body, 4096)
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	switch {
	case err != nil:
		return fmt.Errorf("fabricd at %s, %s %s: %w", c.path, method, path, err)
	case len(data) > maxBody:
		return fmt.Errorf("fabricd at %s answered %s %s with more than %d bytes", c.path, method, path, maxBody)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("fabricd at %s, %s %s: %w", c.path, method, path, err)
	}
	return nil
}

// Open is Do for answers that are streams. The caller reads and closes the body.
func (c *Client) Open(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://fabricd"+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fabricd at %s: %w", c.path, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	e := &Error{Status: resp.StatusCode}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if json.Unmarshal(data, e) != nil || e.Message == "" {
		e.Message = fmt.Sprintf("fabricd at %s answered %s %s with %s", c.path, method, path, resp.Status)
	}
	return nil, e
}
