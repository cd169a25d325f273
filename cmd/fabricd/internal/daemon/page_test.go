package daemon

import "testing"

// TestLoopback: without TLS the page is for this node alone.
func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"": true, "127.0.0.1:0": true, "127.9.9.9:80": true, "[::1]:7480": true, "[::ffff:127.0.0.1]:1": true,
		":7480": false, "0.0.0.0:7480": false, "[::]:7480": false, "10.0.0.1:7480": false, "localhost:7480": false, "127.0.0.1": false, "127.0.0.1.example:80": false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// TestPageLink: the link of a side names it as its clients call it, with its port, and holds the token where browsers send it to nobody.
func TestPageLink(t *testing.T) {
	var none *remote
	if link := none.link(); link != "" {
		t.Errorf("nobody listens, and the link is %q", link)
	}
	a, err := listenPage("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.listener.Close()
	if want := "http://" + a.listener.Addr().String() + "/#token=" + *a.own.Load(); a.link() != want {
		t.Errorf("%s, not %s", a.link(), want)
	}
	b, err := listenPage("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.listener.Close()
	if *a.own.Load() == *b.own.Load() || len(*a.own.Load()) != 64 {
		t.Error("tokens are the same, or short")
	}
}
