// Package broker lends AF_XDP to processes that may not have it themselves. It opens the sockets, attaches the program, sets the memory up, and sends the
// descriptors over xdp.sock; the data path is the process's own (internal/xdp/door is what the two say to each other, internal/xdp what is lent).
//
// Who may borrow is a matter of uid and gid: whoever has an AF_XDP socket may send any frame from the interface, as with CAP_NET_RAW. What comes is checked: only
// packets to addresses that the borrower has a UDP socket bound to, and shows.
package broker
