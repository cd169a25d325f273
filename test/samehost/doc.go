// Package samehost tests who may reach what on one host: real processes, of the same user and of another one, over every stack. It needs root for the other user.
package samehost
