package core

import "strconv"

// String formats a version as fi_info prints it: 2.6.
func (v Version) String() string { return strconv.Itoa(v.Major()) + "." + strconv.Itoa(v.Minor()) }

// Before reports whether v is older than major.minor (FI_VERSION_LT).
func (v Version) Before(major, minor int) bool { return v < V(major, minor) }
