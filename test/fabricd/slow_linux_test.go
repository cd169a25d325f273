package fabricd

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
	"gofabric/test/program"
	"gofabric/test/wait"
)

const (
	// envOccupy is quoted. This process opens envTimes connections to the socket envAt, writes it to each, and
	// reads nothing.
	envOccupy = "FABRICD_TEST_OCCUPY"
	envTimes  = "FABRICD_TEST_TIMES"
	envAt     = "FABRICD_TEST_AT"
)

// asOccupant runs a process that opens connections and uses them as little as it can, until its input ends. It reports
// whether this process has that role.
func asOccupant() bool {
	text := os.Getenv(envOccupy)
	if text == "" {
		return false
	}
	text, _ = strconv.Unquote(text)
	var times int
	_, _ = fmt.Sscan(os.Getenv(envTimes), &times)
	var held []net.Conn
	for range times {
		conn, err := net.Dial("unix", os.Getenv(envAt))
		if err != nil {
			continue // the daemon may refuse
		}
		held = append(held, conn)
		_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
		_, _ = conn.Write([]byte(text)) // the daemon may not read
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	fmt.Println(len(held), "held")
	return true
}

// TestValuesInPieces checks that a list of many long values arrives in pieces of about 1 MiB.
func TestValuesInPieces(t *testing.T) {
	dir := newDir(t)
	start(t, dir, "--state-dir", "off")
	c := client(t, dir)
	ctx := wait.Context(t)
	value := make([]byte, 256<<10)
	const n = 20
	for i := range n {
		if err := c.Do(ctx, "PUT", api.KeyPath(fmt.Sprintf("long/%02d", i)), api.Value{Value: value}, nil); err != nil {
			t.Fatal(err)
		}
	}
	have, pieces := 0, 0
	for after, more := "", true; more; pieces++ {
		var list api.Values
		if err := c.Do(ctx, "GET", "/v1/kv?prefix=long/&after="+after, nil, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Values) > 4 || len(list.Values) == 0 {
			t.Fatalf("%d values of 256 KiB at once", len(list.Values))
		}
		have, after, more = have+len(list.Values), list.Values[len(list.Values)-1].Key, list.More
	}
	if have != n || pieces < n/4 {
		t.Errorf("%d values in %d pieces", have, pieces)
	}
}

// TestSlowOther has another user open as many connections as it can to each socket. It sends half of a request on
// each, or asks for much and reads nothing. Meanwhile the daemon serves root and a third user, also the same user's
// short requests where it has connections left, and its memory stays small.
func TestSlowOther(t *testing.T) {
	self := myself(t)
	value, _ := json.Marshal(api.Value{Value: make([]byte, 200<<10)})
	for what, o := range map[string]struct{ socket, text string }{
		"silent":      {fabricd.API, " "},
		"half a head": {fabricd.API, "GET /v1/status HTTP/1.1\r\nHost: x\r\nX: "},
		"a long head": {fabricd.API, "GET /v1/status HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 31<<10)},
		"a body in pieces": {fabricd.API,
			"PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 100<<10)},
		"chunks": {fabricd.API,
			"PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n" + strings.Repeat("x",
				1<<16)},
		"deaf lists":        {fabricd.API, strings.Repeat("GET /v1/kv HTTP/1.1\r\nHost: x\r\n\r\n", 20)},
		"deaf metrics":      {fabricd.API, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 50)},
		"deaf watches":      {fabricd.API, "GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n"},
		"waits":             {fabricd.API, "GET /v1/kv/never?wait=1m HTTP/1.1\r\nHost: x\r\n\r\n"},
		"half of a process": {fabricd.Stats, "\x00\x00"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := newDir(t)
			p := start(t, dir, "--state-dir", "off")
			c := client(t, dir)
			for i := range 20 {
				if err := c.Do(wait.Context(t), "PUT", api.KeyPath(fmt.Sprint("long/", i)),
					json.RawMessage(value), nil); err != nil {
					t.Fatal(err)
				}
			}
			before := p.resident()
			hostile := program.Talk(t,
				asOther(self, envOccupy+"="+strconv.Quote(o.text), envTimes+"=300", envAt+"="+dir+"/"+o.socket))
			if line := hostile.Line(); line != "ready" {
				t.Fatal(line)
			}
			begin := time.Now()
			for i := range 50 {
				if err := c.Do(within(t, 5*time.Second), "PUT", api.NamePath(fmt.Sprint("root/", i)),
					api.Registration{Address: "1"}, nil); err != nil {
					t.Fatalf("root is not served: %v", err)
				}
			}
			var list api.Values
			if err := client(t, dir).Do(within(t, 5*time.Second), http.MethodGet, "/v1/kv", nil, &list); err != nil ||
				len(list.Values) == 0 {
				t.Errorf("root's list: %v", err)
			}
			if err := client(t, dir).Do(within(t, 5*time.Second), http.MethodGet, "/v1/stuck", nil, nil); err != nil {
				t.Errorf("root's request for what is stuck: %v", err)
			}
			metrics(t, dir)
			for i, got := range as(t, 65533, dir,
				request{"PUT", "/v1/names/third", json.RawMessage(`{"address":"1"}`)},
				request{"PUT", "/v1/kv/third", json.RawMessage(`{"value":"` + strings.Repeat("QUFB", 20<<10) + `"}`)},
				request{"GET", "/v1/kv", nil}) {
				if got != 200 {
					t.Errorf("a third user's request %d: status %d", i, got)
				}
			}
			grown := (p.resident() - before) >> 20
			t.Logf("others were served in %v, the daemon has %d MiB more",
				time.Since(begin).Round(time.Millisecond), grown)
			if grown > 150 {
				t.Errorf("the daemon has grown by %d MiB", grown)
			}
			hostile.HangUp()
		})
	}
}

// TestDribble checks that a client that sends a byte now and then is disconnected as soon as one that sends none. The
// time limits are for the whole head and the whole body of a request.
func TestDribble(t *testing.T) {
	need.Asked(t, "it waits for deadlines of 10 and 30 s")
	dir := newDir(t)
	start(t, dir, "--state-dir", "off")
	var all sync.WaitGroup
	for text, limit := range map[string]time.Duration{
		"GET /v1/status HTTP/1.1\r\nHost: x\r\nX: ":                             15 * time.Second,
		"PUT /v1/names/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n": 40 * time.Second,
	} {
		conn := dial(t, dir)
		all.Go(func() {
			begin := time.Now()
			_, err := conn.Write([]byte(text))
			// The client sends a byte from time to time.
			for ; err == nil && time.Since(begin) < time.Minute; time.Sleep(200 * time.Millisecond) {
				_, err = conn.Write([]byte("x"))
			}
			if took := time.Since(begin); took > limit || took < 5*time.Second {
				t.Errorf("%.20q: disconnected after %v, %v", text, took, err)
			}
		})
	}
	all.Wait()
	mustAnswer(t, client(t, dir))
}

// TestNoDescriptors has other users take all descriptors that the daemon may have. It serves clients that are
// connected and accepts their changes. When the descriptors are free again it serves every client, and nothing is
// lost.
func TestNoDescriptors(t *testing.T) {
	self := myself(t)
	dir := newDir(t)
	p := startCommand(t, dir, exec.Command("/bin/sh", "-c",
		`ulimit -n 64 && exec "$0" "$@"`, binary, "run", "--dir", dir))
	c := client(t, dir)
	mustAnswer(t, c) // the client keeps this connection
	hostile := program.Talk(t, asOther(self, envOccupy+"="+strconv.Quote(" "),
		envTimes+"=200", envAt+"="+dir+"/"+fabricd.API))
	if line := hostile.Line(); line != "ready" {
		t.Fatal(line)
	}
	names := []string{}
	for i := range 1500 { // new log files, for which the daemon has no descriptors
		name := fmt.Sprint("job/", i%50)
		if err := c.Do(within(t, 20*time.Second), "PUT", api.NamePath(name),
			api.Registration{Address: strings.Repeat("x", 4000)}, nil); err != nil {
			t.Fatalf("name %d: %v", i, err)
		}
		names = append(names, name)
	}
	hostile.HangUp()
	wait.Until(t, "other clients are served", func() bool {
		return client(t, dir).Do(within(t, 5*time.Second), "GET", "/v1/status", nil, nil) == nil
	})
	p.Kill()
	start(t, dir)
	mustKnow(t, dir, names[:50])
}
