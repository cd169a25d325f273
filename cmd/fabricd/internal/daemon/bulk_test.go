package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
)

// TestBulk: long requests have a limited number of places, for each user and for all users together. The others
// wait, and are refused in the end. Requests of root have places of their own.
func TestBulk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulk(0)
		hold := make(chan struct{})
		h := b.bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hold }))
		short := b.bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		list := b.bounded(Bulk(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold })))
		ask := func(h http.Handler, uid, length int) chan int {
			done := make(chan int, 1)
			go func() {
				r := httptest.NewRequestWithContext(WithCaller(t.Context(), Caller{UID: uid}), "PUT", "/", strings.NewReader(strings.Repeat("x", max(length, 0))))
				r.ContentLength = int64(length)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				done <- w.Code
			}()
			return done
		}
		status := func(c chan int) int { // 0: the request waits
			select {
			case s := <-c:
				return s
			default:
				return 0
			}
		}
		var held []chan int
		for uid := 1; uid <= 5; uid++ {
			for i := range bulkOfUser {
				held = append(held, ask([]http.Handler{h, list}[i%2], uid, []int{-1, 0, maxSmall + 1, 0}[i%4]))
			}
		}
		synctest.Wait()
		if len(b.all) != bulkOfAll {
			t.Errorf("%d long requests run", len(b.all))
		}
		last, root, small := ask(h, 6, -1), ask(h, 0, -1), ask(short, 1, maxSmall)
		synctest.Wait()
		if status(small) != 200 || status(last) != 0 || status(root) != 0 {
			t.Error("a short request waits, or a long one does not wait")
		}
		ctx, cancel := context.WithTimeout(t.Context(), bulkWait+1)
		defer cancel()
		<-ctx.Done()
		synctest.Wait()
		refused := 0
		for _, c := range append(held, last) {
			if s := status(c); s == 503 {
				refused++
			} else if s != 0 {
				t.Errorf("%d", s)
			}
		}
		if want := 5*bulkOfUser + 1 - bulkOfAll; refused != want {
			t.Errorf("%d requests are refused, want %d", refused, want)
		}
		close(hold)
		synctest.Wait()
		if status(root) != 200 || len(b.all) != 0 || len(b.users) != 0 {
			t.Errorf("at the end %d requests run, %d users are counted", len(b.all), len(b.users))
		}
	})
}

// TestGuardRoot: the last connections are kept for root and the daemon's user.
func TestGuardRoot(t *testing.T) {
	g := newGuard(&Config{Connections: 16, ConnectionsPerUser: 7}, 1000, prometheus.NewRegistry())
	for uid := 1; uid <= 2; uid++ {
		for range 7 {
			if err := g.admit(Caller{UID: uid}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if g.admit(Caller{UID: 3}) == nil {
		t.Error("a user gets the last connection but one")
	}
	if g.admit(Caller{UID: 0}) != nil || g.admit(Caller{UID: 1000}) != nil {
		t.Error("root or the daemon's user does not get the last connections")
	}
	if g.admit(Caller{UID: 0}) == nil {
		t.Error("more connections than the limit are admitted")
	}
}

// TestLogLimiter: the daemon logs messages that users can cause a few times in each period, with the number of omitted
// ones.
func TestLogLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		var s LogLimiter
		for i := range 1000 {
			s.Log(log, 1, slog.LevelInfo, "no", "n", i)
			s.Log(log, 1, slog.LevelDebug, "never")
		}
		if n := strings.Count(text.String(), "\n"); n != logLines {
			t.Errorf("%d lines", n)
		}
		s.Log(log, 2, slog.LevelInfo, "another user")
		if !strings.Contains(text.String(), "another user") {
			t.Error("one user's messages suppress another user's")
		}
		ctx, cancel := context.WithTimeout(t.Context(), logPeriod)
		defer cancel()
		<-ctx.Done()
		s.Log(log, 1, slog.LevelInfo, "no")
		if want := fmt.Sprint("left_out=", 1000-logLines); !strings.Contains(text.String(), want) {
			t.Errorf("the log does not contain %s", want)
		}
	})
}
