// Package fabricd says where the node's daemon is found: the folder of its Unix sockets. Libraries import it, so it imports nothing heavy.
package fabricd
