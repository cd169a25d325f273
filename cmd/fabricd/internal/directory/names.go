package directory

import (
	"net/http"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
)

func (p *Part) putName(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.Registration
	if err := daemon.Read(w, r, &in); err != nil {
		return nil, err
	}
	if in.Address == "" {
		return nil, daemon.Refusal(http.StatusBadRequest, `{"address":"fi_sockaddr_in://10.0.0.1:7471","lease":"30s"}`, "the registration of %q has no address", r.PathValue("name"))
	}
	ttl, err := lease(in.Lease, 0)
	if err != nil {
		return nil, err
	}
	return p.put(r, store.Request{Kind: store.Names, Key: r.PathValue("name"), Value: []byte(in.Address), Private: in.Private, TTL: ttl, Lease: in.LeaseID})
}

func (p *Part) put(r *http.Request, q store.Request) (any, error) {
	ctx, cancel := within(r)
	defer cancel()
	e, err := p.store.Put(ctx, callerOf(r), q)
	return api.Registered{Lease: e.Lease, Expires: e.Expires, Revision: e.Revision}, err
}

func (p *Part) getName(_ http.ResponseWriter, r *http.Request) (any, error) {
	if err := store.CheckKey(r.PathValue("name")); err != nil {
		return nil, err
	}
	ctx, cancel := within(r)
	defer cancel()
	e, err := p.store.Get(ctx, callerOf(r), store.Names, r.PathValue("name"))
	return nameOf(&e), err
}

func nameOf(e *store.Entry) api.Name {
	n := api.Name{Name: e.Key, Address: string(e.Value), Owner: e.UID, Private: e.Private, Expires: e.Expires, Revision: e.Revision}
	if e.TTL > 0 {
		n.Lease = e.TTL.String()
	}
	return n
}

func (p *Part) listNames(_ http.ResponseWriter, r *http.Request) (any, error) {
	list, err := p.list(r, store.Names)
	out := api.Names{Names: []api.Name{}, Revision: list.Revision, More: list.More}
	for i := range list.Entries {
		out.Names = append(out.Names, nameOf(&list.Entries[i]))
	}
	return out, err
}

// deleteFrom deletes the key in the path.
func (p *Part) deleteFrom(k store.Kind, variable string) daemon.Handler {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		if err := store.CheckKey(r.PathValue(variable)); err != nil {
			return nil, err
		}
		ctx, cancel := within(r)
		defer cancel()
		revision, err := p.store.Delete(ctx, callerOf(r), k, r.PathValue(variable))
		return api.Deleted{Revision: revision, Count: 1}, err
	}
}

// deletePrefix deletes the caller's entries with a prefix. The prefix is mandatory, so that an omission does not
// delete everything.
func (p *Part) deletePrefix(k store.Kind) daemon.Handler {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		prefix := r.URL.Query().Get("prefix")
		if prefix == "" {
			return nil, daemon.Refusal(http.StatusBadRequest, "?prefix=job/", "give a prefix")
		}
		ctx, cancel := within(r)
		defer cancel()
		n, revision, err := p.store.DeletePrefix(ctx, callerOf(r), k, prefix)
		return api.Deleted{Revision: revision, Count: n}, err
	}
}

func (p *Part) renew(_ http.ResponseWriter, r *http.Request) (any, error) {
	ctx, cancel := within(r)
	defer cancel()
	id := r.PathValue("id")
	expires, err := p.store.Renew(ctx, callerOf(r), id)
	return api.Renewed{Lease: id, Expires: expires}, err
}
