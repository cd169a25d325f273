package datagram

import "fmt"

// Describe says what a port has to work with, and how it uses that; "" if it does not tell. Locked.
func Describe(p Port) string {
	if s, ok := p.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}
