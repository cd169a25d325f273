package directory

import (
	"net/http"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
)

func (p *Part) putName(w http.ResponseWriter, r *http.Request) {
	var in api.Registration
	if !daemon.Read(w, r, &in) {
		return
	}
	if in.Address == "" {
		daemon.Refuse(w, http.StatusBadRequest, `{"address":"fi_sockaddr_in://10.0.0.1:7471","lease":"30s"}`, "the registration of %q has no address", r.PathValue("name"))
		return
	}
	ttl, ok := lease(w, in.Lease, 0)
	if !ok {
		return
	}
	p.put(w, r, store.Request{Kind: store.Names, Key: r.PathValue("name"), Value: []byte(in.Address), Private: in.Private, TTL: ttl, Lease: in.LeaseID})
}

func (p *Part) put(w http.ResponseWriter, r *http.Request, q store.Request) {
	ctx, cancel := within(r)
	defer cancel()
	e, err := p.store.Put(ctx, callerOf(r), q)
	if err != nil {
		refuse(w, err)
		return
	}
	daemon.Answer(w, api.Registered{Lease: e.Lease, Expires: e.Expires, Revision: e.Revision})
}

func (p *Part) getName(w http.ResponseWriter, r *http.Request) {
	if err := store.CheckKey(r.PathValue("name")); err != nil {
		refuse(w, err)
		return
	}
	ctx, cancel := within(r)
	defer cancel()
	e, err := p.store.Get(ctx, callerOf(r), store.Names, r.PathValue("name"))
	if err != nil {
		refuse(w, err)
		return
	}
	daemon.Answer(w, nameOf(&e))
}

func nameOf(e *store.Entry) api.Name {
	n := api.Name{Name: e.Key, Address: string(e.Value), Owner: e.UID, Private: e.Private, Expires: e.Expires, Revision: e.Revision}
	if e.TTL > 0 {
		n.Lease = e.TTL.String()
	}
	return n
}

func (p *Part) listNames(w http.ResponseWriter, r *http.Request) {
	list, ok := p.list(w, r, store.Names)
	if !ok {
		return
	}
	out := api.Names{Names: []api.Name{}, Revision: list.Revision, More: list.More}
	for i := range list.Entries {
		out.Names = append(out.Names, nameOf(&list.Entries[i]))
	}
	daemon.Answer(w, out)
}

// deleteFrom deletes the key in the path.
func (p *Part) deleteFrom(k store.Kind, variable string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := store.CheckKey(r.PathValue(variable)); err != nil {
			refuse(w, err)
			return
		}
		ctx, cancel := within(r)
		defer cancel()
		revision, err := p.store.Delete(ctx, callerOf(r), k, r.PathValue(variable))
		if err != nil {
			refuse(w, err)
			return
		}
		daemon.Answer(w, api.Deleted{Revision: revision, Count: 1})
	}
}

// deletePrefix deletes the caller's entries with a prefix. The prefix is mandatory, so that an omission does not
// delete everything.
func (p *Part) deletePrefix(k store.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		prefix := r.URL.Query().Get("prefix")
		if prefix == "" {
			daemon.Refuse(w, http.StatusBadRequest, "?prefix=job/", "give a prefix")
			return
		}
		ctx, cancel := within(r)
		defer cancel()
		n, revision, err := p.store.DeletePrefix(ctx, callerOf(r), k, prefix)
		if err != nil {
			refuse(w, err)
			return
		}
		daemon.Answer(w, api.Deleted{Revision: revision, Count: n})
	}
}

func (p *Part) renew(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := within(r)
	defer cancel()
	id := r.PathValue("id")
	expires, err := p.store.Renew(ctx, callerOf(r), id)
	if err != nil {
		refuse(w, err)
		return
	}
	daemon.Answer(w, api.Renewed{Lease: id, Expires: expires})
}
