package core

import (
	"fmt"
	"strconv"
	"strings"
)

// Error returns fi_strerror(3)'s text for e. Like the C function it also takes negative numbers.
func (e Errno) Error() string {
	if e < 0 {
		e = -e
	}
	if t, ok := errText[e]; ok {
		return t.text
	}
	if e >= 256 {
		return errText[ErrOther].text
	}
	return "Unknown error " + strconv.Itoa(int(e))
}

// Name returns the constant's name in C, such as FI_EAGAIN. Numbers that libfabric does not name have the system's
// name with FI_ before it. Unknown numbers are FI_ERRNO(n).
func (e Errno) Name() string {
	if e < 0 {
		e = -e
	}
	if t, ok := errText[e]; ok && t.name != "" {
		return "FI_" + t.name
	}
	return fmt.Sprintf("FI_ERRNO(%d)", int(e))
}

// ParseErrno reads an error number in any common spelling: 11, -11, FI_EAGAIN, EAGAIN, eagain.
func ParseErrno(s string) (Errno, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 0, 32); err == nil {
		if n < 0 {
			n = -n
		}
		return Errno(n), nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "FI_")
	if name == "EWOULDBLOCK" {
		return ErrAgain, nil
	}
	for e, t := range errText {
		if t.name == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%q is neither an error number nor a name such as FI_EAGAIN: %w", s, ErrInval)
}
