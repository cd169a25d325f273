package chaos

import (
	"os/exec"
	"testing"

	"gofabric/test/veth"
)

// twoHosts makes two network namespaces with a veth pair between them.
func twoHosts(t *testing.T) *site {
	t.Helper()
	a, b := veth.Pair(t, veth.Options{Net: 97})
	hosts := []*veth.Host{a, b}
	return &site{
		addrs:   []string{a.V4.String(), b.V4.String()},
		command: func(host int, name string) *exec.Cmd { return hosts[host].Command(name) },
		inside: func(host int, f func() error) (err error) {
			hosts[host].Inside(func() error { err = f(); return nil })
			return err
		},
		link: func(up bool) {
			word := "down"
			if up {
				word = "up"
			}
			b.IP("link", "set", veth.End, word)
		},
	}
}
