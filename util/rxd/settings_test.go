package rxd

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

func TestBadSettings(t *testing.T) {
	for name, value := range map[string]string{
		"MAX_PEERS": "0", "MAX_UNACKED": "100000", "EXTENSIONS": "perhaps", "RECV_WINDOW": "100", "HANDSHAKE_TIMEOUT": "0", "PEER_TIMEOUT": "-1",
		"STAGING_SIZE": "x", "SINGLE_COPY_SIZE": "-2",
	} {
		t.Run(name, func(t *testing.T) {
			variable := "FI_OFI_RXD_" + name
			store, err := core.NewParams(func(n string) (string, bool) { return value, n == variable }, "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err = New(store, nil); !errors.Is(err, core.ErrInval) ||
				!strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), strings.ToLower(name)) {
				t.Errorf("%s=%s: %v; want an error that names the variable", variable, value, err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	p, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.s; s.maxUnacked != 128 || !s.Extensions || s.SingleCopy != 32<<10 || s.recvWindow != 0 || s.peer <= 0 ||
		s.handshake <= 0 {
		t.Errorf("%+v", s)
	}
}
