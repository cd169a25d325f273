package datagram

import "fmt"

// Describe returns a text about the port's socket and features, "" if the port has none. Locked.
func Describe(p Port) string {
	if s, ok := p.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}
