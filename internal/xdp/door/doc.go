// Package door is the conversation of a process with a daemon that hands out AF_XDP sockets (fabricd's xdp.sock): a sequence of packets over a Unix socket, each a
// JSON value, with descriptors beside it where they are needed. A connection that has opened an interface stands for what it got: when it ends, for whatever
// reason, the daemon takes ports and queues back.
//
//	process                                       daemon
//	ask   {interface}        + any socket         {} or a refusal: what open would say, but nothing is taken
//	open  {interface, ...}   + any socket         {terms} + the memory of packets, a bound AF_XDP socket for each queue
//	bind  {address}          + the UDP socket     {}: packets to the address come to the sockets of this process
//	unbind {address}                              {}: they go to the kernel's stack again
//	mtu                                           {}: the interface's MTU has changed, the daemon looks at it
//
// The socket beside ask and open shows the network namespace, the one beside bind that the address and port are the process's own.
package door
