// Package names is the directory of the node's daemon for programs. Lookup finds the addresses that are registered
// under fabric://name, and a Registration keeps a name registered while its program runs. No code here runs unless a
// program uses such names.
package names
