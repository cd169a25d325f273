package fabricd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
)

// dial opens a plain connection to the API.
func dial(t *testing.T, dir string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", dir+"/api.sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// resident returns the daemon's resident memory in bytes.
func (p *process) resident() int {
	p.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		p.t.Skip("no /proc to read memory from: ", err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(data)
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return n << 10
}

// mustAnswer checks that the daemon still serves other clients.
func mustAnswer(t *testing.T, c *api.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := c.Do(ctx, "GET", "/v1/status", nil, new(api.Status)); err != nil {
		t.Fatalf("other clients are not served: %v", err)
	}
}

// TestGarbage sends malformed requests. The daemon answers with an error or closes the connection, and serves other
// clients.
func TestGarbage(t *testing.T) {
	dir := newDir(t)
	p := start(t, dir)
	c := client(t, dir)
	random := make([]byte, 1<<16)
	r := rand.NewChaCha8([32]byte{7})
	r.Read(random)
	for _, text := range [][]byte{
		random,
		[]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), // TLS
		[]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		[]byte("GET /v1/names HTTP/1.1\r\n\r\n"), // without Host
		[]byte("GET /v1/names HTTP/9.9\r\nHost: x\r\n\r\n"),
		[]byte("GET /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n"),
		[]byte("GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"),
		[]byte("PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n0123456789"),
		[]byte("PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
		[]byte("PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n"),
		[]byte("PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n{\"address\":\"" + strings.Repeat("x", 2<<20)),
		[]byte("PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("[", 100000)),
		[]byte("PUT /v1/names/a%zz HTTP/1.1\r\nHost: x\r\n\r\n"),
		[]byte("POST /v1/fence/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		conn := dial(t, dir)
		go func() {
			_, _ = conn.Write(text) // the daemon may close first
			_ = conn.(*net.UnixConn).CloseWrite()
		}()
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		got, err := io.ReadAll(io.LimitReader(conn, 1<<20))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.40q: neither an answer nor the end of the connection", text)
		}
		if bytes.HasPrefix(got, []byte("HTTP/1.1 2")) {
			t.Errorf("%.40q succeeded: %.200q", text, got)
		}
		mustAnswer(t, c)
	}
	var list api.Names
	if err := c.Do(within(t, time.Minute), "GET", "/v1/names", nil, &list); err != nil || len(list.Names) != 0 {
		t.Errorf("a malformed request registered a name: %+v, %v", list, err)
	}
	if rss := p.resident(); rss > 200<<20 {
		t.Errorf("the daemon uses %d MiB", rss>>20)
	}
}

// TestSlowClients fills the connections of this user with clients that send half of a request, or do not read. The
// daemon refuses one more, and serves other users. With GOFABRIC_MANY, it closes all of them in time.
func TestSlowClients(t *testing.T) {
	dir := newDir(t)
	start(t, dir, "--connections", "12")
	c := client(t, dir)
	mustAnswer(t, c) // the client keeps this connection
	var slow []net.Conn
	for i := range 11 {
		conn := dial(t, dir)
		text := "GET /v1/sta"
		switch i % 3 {
		case 1:
			text = "PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
		case 2:
			text = strings.Repeat("GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n", 2)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	var refused *http.Response
	// The daemon may not have accepted all of them yet.
	for end := time.Now().Add(20 * time.Second); refused == nil && time.Now().Before(end); {
		conn := dial(t, dir)
		fmt.Fprintf(conn, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && resp.StatusCode == 503 {
			refused = resp
			body, _ := io.ReadAll(resp.Body)
			if !strings.Contains(string(body), "connections") {
				t.Errorf("refused with %s", body)
			}
		}
		conn.Close()
	}
	if refused == nil {
		t.Fatal("12 connections are allowed, and the 13th was served")
	}
	mustAnswer(t, c)
	if !need.Many() {
		return
	}
	var ends sync.WaitGroup
	for i, conn := range slow {
		if i%3 == 2 {
			conn.Close()
			continue // a watch that is read stays open
		}
		ends.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("slow client %d is still connected", i)
			}
		})
	}
	ends.Wait()
}

// TestDeafWatcher checks that a watcher that does not read does not make the daemon's memory grow. With GOFABRIC_MANY,
// the daemon closes it in time.
func TestDeafWatcher(t *testing.T) {
	dir := newDir(t)
	p := start(t, dir)
	conn := dial(t, dir)
	fmt.Fprintf(conn, "GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
	c := client(t, dir)
	ctx := within(t, time.Minute)
	address := strings.Repeat("x", 4000)
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := range 1500 {
				if err := c.Do(ctx, "PUT", api.NamePath(fmt.Sprint(w)),
					api.Registration{Address: fmt.Sprint(address, i)}, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	if rss := p.resident(); rss > 200<<20 {
		t.Errorf("the daemon uses %d MiB", rss>>20)
	}
	if !need.Many() {
		return
	}
	// One connection asks for the metrics. The daemon closes the other one after 45 seconds.
	for end := time.Now().Add(2 * time.Minute); p.connections(c) > 1; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("a watcher that does not read is still connected")
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("another connection than the watcher's ended")
	}
}

// connections returns how many connections the daemon's metrics show, including the one that asks.
func (p *process) connections(c *api.Client) int {
	p.t.Helper()
	c.Close() // idle connections
	body, err := c.Open(p.t.Context(), "GET", "/metrics", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		p.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^fabricd_connections (\d+)$`).FindSubmatch(text)
	if m == nil {
		p.t.Fatalf("the metrics have no fabricd_connections: %.500s", text)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// TestMillion registers a million names, as a user and as root. The limits hold, and memory stays bounded.
func TestMillion(t *testing.T) {
	total := 1_000_000
	if !need.Many() {
		total = 5000
	}
	dir := newDir(t)
	p := start(t, dir, "--entries", fmt.Sprint(total/4))
	ctx := within(t, 9*time.Minute)
	var mu sync.Mutex
	answers := map[int]int{}
	var work sync.WaitGroup
	const workers = 16
	for w := range workers {
		c := client(t, dir)
		work.Go(func() {
			for i := w; i < total; i += workers {
				err := c.Do(ctx, "PUT", api.NamePath(fmt.Sprint("million/", i)),
					api.Registration{Address: "10.0.0.1:7471", Lease: "1h"}, nil)
				if s := status(err); err != nil && s == 0 {
					t.Error(err)
					return
				}
				mu.Lock()
				answers[status(err)]++
				mu.Unlock()
			}
		})
	}
	work.Wait()
	if answers[0] != total/4 || answers[507] != total-total/4 {
		t.Errorf("%d registered, %d refused by the limit; want %d and %d: %v", answers[0],
			answers[507], total/4, total-total/4, answers)
	}
	rss := p.resident()
	t.Logf("%d names in %d MiB", answers[0], rss>>20)
	if rss > 500<<20 {
		t.Errorf("the daemon uses %d MiB", rss>>20)
	}
}
