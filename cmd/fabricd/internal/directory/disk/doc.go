// Package disk is a folder of files as a journal needs it: what is durable, and when, is said. Tests have one whose machine ends, and whose disk fails, when they like.
package disk
