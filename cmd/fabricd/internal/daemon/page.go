package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"gofabric/internal/fabricd/api"
)

// Browsers do not open Unix sockets: they reach the page over TCP, with a token. The link has the token behind the
// #, which browsers do not send. The page keeps it for its tab and sends it with each request. The port is open
// only on demand: from the start with --page, or from PUT to DELETE of /v1/page.

// PageOn opens the page at the usual address or, if another program uses that, at any port.
const PageOn = "on"

// pageAddress is constant if possible, because Firefox stores accepted certificates by port.
const pageAddress = "127.0.0.1:7481"

// openPage opens the page's port, unless it is open.
func (d *Daemon) openPage(address string) error {
	d.pageMu.Lock()
	defer d.pageMu.Unlock()
	if d.page != nil {
		return nil
	}
	r, err := listenPage(address, d.guard, d.identity)
	if err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	s := d.server(r.authorize(d.site))
	if err := d.listeners.open(s, r.listener); err != nil {
		return err
	}
	d.page, d.pageServer = r, s
	return nil
}

// listenPage opens a port of loopback. Its token is valid while the port is open.
func listenPage(address string, g *guard, own *identity) (*remote, error) {
	token, list, err := masterToken()
	if err != nil {
		return nil, err
	}
	r := &remote{address: address, page: true}
	if address == PageOn {
		r.address = pageAddress
	}
	r.tokens.Store(&list)
	r.own.Store(&token)
	names := []string{"localhost"}
	r.names.Store(&names)
	if _, err := own.cover(r.host()); err != nil {
		return nil, fmt.Errorf("the certificate: %w", err)
	}
	err = r.listen(g, own)
	if address == PageOn && errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(pageAddress)
		r.address = net.JoinHostPort(host, "0")
		err = r.listen(g, own)
	}
	return r, err
}

// closePage closes the page's port, if it is open, and ends its requests.
func (d *Daemon) closePage() {
	d.pageMu.Lock()
	defer d.pageMu.Unlock()
	if d.page == nil {
		return
	}
	d.page.tokens.Store(&tokens{})
	d.listeners.shut(d.pageServer)
	d.page, d.pageServer = nil, nil
}

// where returns the page's address.
func (d *Daemon) where() (*api.Page, error) {
	cert, err := d.identity.cover()
	if err != nil {
		return nil, fmt.Errorf("the certificate: %w", err)
	}
	d.pageMu.Lock()
	defer d.pageMu.Unlock()
	return &api.Page{Link: d.page.link(), Remote: d.remote.link(), Certificate: string(certificatePEM(cert)), SHA256: fingerprint(cert)}, nil
}

// servePage answers requests for /v1/page: GET returns the page's address, PUT opens its port, DELETE closes it.
func (d *Daemon) servePage(w http.ResponseWriter, r *http.Request) {
	who := CallerOf(r)
	if who.Remote || !who.Root(os.Getuid()) {
		Refuse(w, http.StatusForbidden, "send the request on the node, over the Unix socket, as the user that runs fabricd or as root", "only the user that runs fabricd and root may open, close or see the page's port: its link contains a token with all rights")
		return
	}
	switch r.Method {
	case http.MethodPut:
		if err := d.openPage(PageOn); err != nil {
			Refuse(w, http.StatusServiceUnavailable, "", "%v", err)
			return
		}
		d.site.Log.Info("the page's port is open", "pid", who.PID, "uid", who.UID)
	case http.MethodDelete:
		d.closePage()
		d.site.Log.Info("the page's port is closed", "pid", who.PID, "uid", who.UID)
	}
	p, err := d.where()
	if err != nil {
		err = Refusal(http.StatusServiceUnavailable, "", "%v", err)
	}
	Reply(w, p, err)
}
