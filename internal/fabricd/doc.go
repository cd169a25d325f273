// Package fabricd finds the node's daemon: the folder of its Unix sockets. Libraries import it, so it imports only
// small packages.
package fabricd
