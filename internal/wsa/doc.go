// Package wsa names the error numbers of Windows' sockets as the other systems do.
package wsa
