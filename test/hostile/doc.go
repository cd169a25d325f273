// Package hostile tests bad input against real listeners and connections. Peers use another protocol, lie about
// lengths, forge keys, stop in the middle, or take all descriptors. They get errors, and the endpoint counts drops.
// Honest peers lose nothing meanwhile.
package hostile
