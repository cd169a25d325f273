// Package names is the directory of the node's daemon as programs use it: Lookup finds what is registered under fabric://name, and a Registration keeps a
// name registered as long as its program lives. Nothing here runs unless a program uses such names.
package names
