package boot

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

// inserter is an endpoint whose address vector accepts all addresses except no.
type inserter struct {
	name core.Addr
	no   string
	got  []string
}

func (i *inserter) Name() core.Addr { return i.name }

func (i *inserter) InsertAddr(a core.Addr) (int, error) {
	if a.String() == i.no {
		return 0, core.ErrInval
	}
	i.got = append(i.got, a.String())
	return len(i.got) - 1, nil
}

func addr(t testing.TB, text string) core.Addr {
	a, err := core.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPeers(t *testing.T) {
	names := []string{"fi_sockaddr_in://127.0.0.1:1", "fi_sockaddr_in6://[::1]:2", "fi_sockaddr_in://10.0.0.1:3"}
	for _, refused := range []string{"", names[1]} {
		errs := together(t, 3, places[TCP](t), func(ctx context.Context, j *Job) error {
			ep := &inserter{name: addr(t, names[j.Rank()]), no: refused}
			peers, err := Peers(ctx, j, ep)
			if err == nil && (len(peers) != 3 || peers[2] != 2 ||
				strings.Join(ep.got, " ") != strings.Join(names, " ")) {
				t.Errorf("rank %d: %v, %v", j.Rank(), peers, ep.got)
			}
			return errors.Join(err, j.Fence(ctx))
		})
		if err := errors.Join(errs...); (err != nil) != (refused != "") {
			t.Errorf("refused %q: %v", refused, err)
		}
	}
}

// TestAddresses: an address that peers cannot reach is refused, and the error names its rank.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"here fi_sockaddr_in://0.0.0.0:1":        "rank 0",
		"here fi_sockaddr_in://10.0.0.1:0":       "rank 0",
		"elsewhere fi_sockaddr_in://127.0.0.1:1": "rank 0 on host \"elsewhere\"",
		"elsewhere fi_sockaddr_in6://[::1]:1":    "its own host",
		"fi_sockaddr_in://10.0.0.1:1":            "no address",
		"here nonsense":                          "no address",
		"elsewhere fi_sockaddr_in://10.0.0.1:1":  "",
		"elsewhere fi_shm://1234":                "",
	} {
		errs := together(t, 2, places[TCP](t), func(ctx context.Context, j *Job) error {
			if j.Rank() == 0 {
				_, err := j.Exchange(ctx, []byte(text))
				return err
			}
			_, err := j.Addresses(ctx, addr(t, "fi_sockaddr_in://10.0.0.2:7"))
			return err
		})
		if errs[0] != nil {
			t.Errorf("%q: %v", text, errs[0])
		}
		if err := errs[1]; want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
