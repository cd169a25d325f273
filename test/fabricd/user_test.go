package fabricd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
)

// request is a request that a process of another user sends.
type request struct {
	Method, Path string
	Body         json.RawMessage
}

// envRequests is JSON. This process sends the requests to the socket in FABRICD_TEST_SOCKET and prints their statuses.
const envRequests = "FABRICD_TEST_REQUESTS"

// asOtherUser runs a process of another user. It reports whether this process has that role.
func asOtherUser() bool {
	text := os.Getenv(envRequests)
	if text == "" {
		return false
	}
	var requests []request
	if err := json.Unmarshal([]byte(text), &requests); err != nil {
		panic(err)
	}
	c, err := api.Dial(os.Getenv("FABRICD_TEST_SOCKET"))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answers := []int{}
	for _, r := range requests {
		var body any
		if len(r.Body) > 0 {
			body = r.Body
		}
		err := c.Do(ctx, r.Method, r.Path, body, nil)
		answer := status(err)
		if err == nil {
			answer = 200
		} else if answer == 0 {
			fmt.Fprintln(os.Stderr, err)
		}
		answers = append(answers, answer)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
	return true
}

// as sends requests from a process of a user and returns their statuses.
func as(t *testing.T, uid uint32, dir string, requests ...request) (answers []int) {
	t.Helper()
	need.Root(t, "a test with several users")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self) // other users cannot read the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	path := newDir(t) + "/client"
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), envRequests+"="+string(text), "FABRICD_TEST_SOCKET="+dir+"/api.sock")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("uid %d: %v", uid, err)
	}
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatalf("uid %d printed %q: %v", uid, out, err)
	}
	return answers
}

// TestOtherUser checks that a process of another user cannot change, take or read what belongs to others, even if it
// claims to be another user.
func TestOtherUser(t *testing.T) {
	dir := newDir(t)
	start(t, dir)
	address := json.RawMessage(`{"address":"10.0.0.1:1"}`)
	secret := json.RawMessage(`{"value":"c2VjcmV0","private":true}`)
	for i, got := range as(t, 65533, dir, request{"PUT", "/v1/names/a", address},
		request{"PUT", "/v1/kv/secret", secret}, request{"GET", "/v1/kv/secret", nil}) {
		if got != 200 {
			t.Fatalf("the owner's request %d: status %d", i, got)
		}
	}
	evil := []request{
		{"PUT", "/v1/names/a", address}, {"DELETE", "/v1/names/a", nil}, {"GET", "/v1/kv/secret", nil},
		{"PUT", "/v1/kv/secret", secret}, {"DELETE", "/v1/kv/secret", nil},
	}
	for i, got := range as(t, 65532, dir, evil...) {
		if got != 403 {
			t.Errorf("%s %s for the name of another user: status %d", evil[i].Method, evil[i].Path, got)
		}
	}
	if got := as(t, 65532, dir, request{"DELETE", "/v1/kv?prefix=s", nil},
		request{"DELETE", "/v1/names?prefix=a", nil}, request{"GET", "/v1/names/a", nil}); got[2] != 200 {
		t.Errorf("reading a name: %v", got)
	}
	var v api.Value
	if err := client(t, dir).Do(within(t, time.Minute), "GET", "/v1/kv/secret", nil, &v); err != nil ||
		string(v.Value) != "secret" || v.Owner != 65533 {
		t.Errorf("afterwards: %+v, %v", v, err)
	}
}
