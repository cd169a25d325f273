//go:build fabricbasic

package netx

// setNoSigPipe does nothing: each send has MSG_NOSIGNAL.
func setNoSigPipe(FD) error { return nil }
