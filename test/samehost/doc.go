// Package samehost tests which processes can access which resources on one host, with real processes of the same user
// and of another one, over every stack. It needs root for the other user.
package samehost
