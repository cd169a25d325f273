//go:build fabricbasic

package netx

// setNoSigPipe has nothing to do here: MSG_NOSIGNAL goes with each send.
func setNoSigPipe(FD) error { return nil }
