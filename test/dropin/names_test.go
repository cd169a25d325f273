package dropin

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestNames checks that C programs find names that are registered with fabricd. A server of the test stands in for
// fabricd.
func TestNames(t *testing.T) {
	dir, err := os.MkdirTemp("", "fd") // short, because paths of sockets are limited (unix(7))
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/names/job/{n}", func(w http.ResponseWriter, r *http.Request) {
		if n := r.PathValue("n"); n < "3" {
			fmt.Fprintf(w, `{"name":"job/%s","address":"fi_sockaddr_in://10.0.0.%s:7471"}`, n, n)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"status":404,"error":"not found"}`)
	})
	s := &http.Server{Handler: mux}
	go s.Serve(l)
	defer s.Close()
	for _, stack := range []stack{{"tcp", "rdm"}, {"udp", "dgram"}, {"udp;ofi_rxd", "rdm"}} {
		t.Run(stack.String(), func(t *testing.T) {
			finish(t, append(onOurs(t), "FABRICD_DIR="+dir), compile(t, "names"), stack.provider, stack.kind)
		})
	}
}
