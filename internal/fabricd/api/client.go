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

// ErrNoDaemon: there is no daemon on this node.
var ErrNoDaemon = errors.New("no fabricd is running on this node (start one with: fabricd run)")

// maxBody is the longest answer that a Client reads, bytes.
const maxBody = 16 << 20

// longestWait is how long a daemon may take to begin an answer: the longest that it can be asked to wait, a minute, and more than it takes to do something.
const longestWait = 2 * time.Minute

// Client talks to a daemon over its Unix socket. It is safe for use by several goroutines.
type Client struct {
	path string
	http http.Client
}

// Dial returns a client of the daemon whose API socket is path; "" looks for this node's. Nothing is sent yet.
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

// Error is what a daemon answered instead of what was asked for. It is the body of every answer that is not a success.
type Error struct {
	Status  int    `json:"status"` // of HTTP
	Message string `json:"error"`
	Hint    string `json:"hint,omitempty"` // what to do
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Do sends in as JSON, unless it is nil, and reads the answer into out, unless that is nil. An answer that is not a success is an *Error.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	body, err := c.Open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if out == nil {
		_, _ = io.CopyN(io.Discard, body, 4096) // a connection whose answer was not read to its end is not used again
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

// Open is Do for answers that are streams: the caller reads and closes the body.
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
