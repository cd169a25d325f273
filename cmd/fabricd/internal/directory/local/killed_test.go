package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/test/need"
)

// envVictim is the variable with the folder of a process that the test kills.
const envVictim = "FABRICD_TEST_VICTIM"

// keysOfEach is the number of keys of each writer in a victim.
const keysOfEach = 5

// asVictim runs in a process that changes a directory, and prints the acknowledged changes until it is killed. It
// returns false in other processes.
func asVictim() bool {
	dir := os.Getenv(envVictim)
	if dir == "" {
		return false
	}
	s, err := Open(Options{Folder: dir, Grace: time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	fmt.Println("open", s.table.Revision(), 0)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { victimWrites(s, w) })
	}
	writers.Wait()
	return true
}

func victimWrites(s *Store, w int) {
	for i := 0; ; i++ {
		key := fmt.Sprint(w, "/", i%keysOfEach)
		var err error
		revision := uint64(0)
		if i%7 == 6 {
			revision, err = s.Delete(context.Background(), alice, store.Values, key)
		} else {
			var e store.Entry
			e, err = s.Put(context.Background(), alice, store.Request{Kind: store.Values, Key: key, Value: []byte(strings.Repeat("x", rand.IntN(9000)))})
			revision = e.Revision
		}
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(map[bool]string{true: "delete", false: "put"}[i%7 == 6], key, revision) // one write(2) for each change
	}
}

// TestKilled kills a process (SIGKILL) ten times at any moment while it changes the directory, with GOFABRIC_MANY
// fifty times. Each change waits for the disk. The acknowledged changes survive: for each key the last acknowledged
// change is there, or one that was made after it. The revision never goes back.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]change{} // by key
	all, told := 0, uint64(0)
	rounds := 10
	if need.Many() {
		rounds = 50
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envVictim+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		most := rand.IntN(200)
		said := bufio.NewScanner(out)
		for n := 0; said.Scan(); n++ {
			if n == most {
				pause := time.Duration(rand.IntN(2000)) * time.Microsecond
				time.AfterFunc(pause, func() { _ = cmd.Process.Kill() }) // at any time between two answers
			}
			var c change
			var key string
			if _, err := fmt.Sscan(said.Text(), &c.what, &key, &c.revision); err != nil || c.what == "error" {
				t.Fatalf("round %d: %q", round, said.Text())
			}
			if c.what == "open" {
				continue
			}
			all, told = all+1, max(told, c.revision)
			acknowledged[key] = c
		}
		_ = cmd.Wait() // the error says that it was killed
		s := open(t, dir)
		if at := s.table.Revision(); at < told {
			t.Errorf("round %d: revision %d, but %d was acknowledged", round, at, told)
		}
		for key, c := range acknowledged {
			e, err := s.Get(t.Context(), root, store.Values, key)
			switch {
			case err == nil && (e.Revision > c.revision || e.Revision == c.revision && c.what == "put"):
			case errors.Is(err, store.ErrNotFound) && (c.what == "delete" || deletedLater(s, key, c.revision)):
			default:
				t.Errorf("round %d: %s: %+v was acknowledged, there is revision %d, %v", round, key, c, e.Revision, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d changes were acknowledged", all)
	if all < 20*rounds {
		t.Errorf("only %d changes were acknowledged", all)
	}
}

// change is an acknowledged change.
type change struct {
	what     string
	revision uint64
}

// deletedLater reports whether the history has a deletion of key after revision. It may have been written without
// an acknowledgement.
func deletedLater(s *Store, key string, revision uint64) bool {
	w, err := s.feed.Watch(root, store.Values, key, revision)
	for err == nil && w.At() < s.feed.Revision() {
		var events []store.Event
		if events, _, err = w.Next(context.Background()); len(events) > 0 &&
			events[len(events)-1].Type == store.Deleted {
			return true
		}
	}
	return false
}
