package store

import "fmt"

// Usage is an amount of entries and bytes.
type Usage struct {
	Entries, Bytes int64
}

// Limits bound the directory. 0 is no limit.
type Limits struct {
	User  Usage // of each user
	Total Usage
}

// Admit refuses more if the user or all users would exceed the limits. user and total are their present usage.
func (l Limits) Admit(who Caller, uid int, user, total, more Usage) error {
	if !who.All {
		if err := user.within(l.User, more, fmt.Sprintf("uid %d", uid)); err != nil {
			return err
		}
	}
	return total.within(l.Total, more, "this directory")
}

func (have Usage) within(limit, more Usage, whose string) error {
	switch {
	case limit.Entries > 0 && more.Entries > 0 && have.Entries+more.Entries > limit.Entries:
		return fmt.Errorf("%w: %s has %d of %d entries", ErrQuota, whose, have.Entries, limit.Entries)
	case limit.Bytes > 0 && more.Bytes > 0 && have.Bytes+more.Bytes > limit.Bytes:
		return fmt.Errorf("%w: %s has %d of %d bytes, and asks for %d more", ErrQuota, whose, have.Bytes, limit.Bytes, more.Bytes)
	}
	return nil
}
