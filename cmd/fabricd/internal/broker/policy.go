//go:build linux

package broker

import (
	"log/slog"
	"os/user"
	"slices"
	"strconv"

	"gofabric/cmd/fabricd/internal/daemon"
)

// policy is who may borrow, and how much by default.
type policy struct {
	owner  int // the daemon's user
	users  []string
	groups []string
	queues int
}

func newPolicy(c *daemon.Config, owner int) policy {
	return policy{owner: owner, users: c.XDPUsers, groups: c.XDPGroups, queues: max(c.XDPQueues, 1)}
}

// warn names users and groups that the system does not know, which a slip of the pen makes.
func (p *policy) warn(log *slog.Logger) {
	for _, name := range p.users {
		if _, err := strconv.Atoi(name); err == nil {
			continue
		}
		if _, err := user.Lookup(name); err != nil {
			log.Warn("xdp-users names somebody unknown", "user", name, "error", err)
		}
	}
	for _, name := range p.groups {
		if _, err := strconv.Atoi(name); err == nil {
			continue
		}
		if _, err := user.LookupGroup(name); err != nil {
			log.Warn("xdp-groups names a group that is unknown", "group", name, "error", err)
		}
	}
}

// allows reports whether a caller may borrow: root and the daemon's own user, and who is named, or is in a group that is. Groups are those of the process, its
// supplementary ones those of the system's list.
func (p *policy) allows(c daemon.Caller) bool {
	if c.Root(p.owner) {
		return true
	}
	uid := strconv.Itoa(c.UID)
	u, err := user.LookupId(uid)
	if slices.Contains(p.users, uid) || err == nil && slices.Contains(p.users, u.Username) {
		return true
	}
	if len(p.groups) == 0 {
		return false
	}
	gids := []string{strconv.Itoa(c.GID)}
	if err == nil {
		if more, err := u.GroupIds(); err == nil {
			gids = append(gids, more...)
		}
	}
	for _, gid := range gids {
		if slices.Contains(p.groups, gid) {
			return true
		}
		if g, err := user.LookupGroupId(gid); err == nil && slices.Contains(p.groups, g.Name) {
			return true
		}
	}
	return false
}
