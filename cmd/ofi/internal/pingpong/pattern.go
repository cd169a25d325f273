package pingpong

import "fmt"

// This file has the data pattern that both ends of a checked run use: the alphabet below, repeated. Each message
// starts 7 letters after the one before it. It is the pattern of the native tool's -c.

const (
	alphabet    = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	patternStep = 7
)

// pattern generates or checks one direction's sequence of messages.
type pattern struct {
	messages uint32 // the peer's counter has 32 bits, and wraps
}

func (p *pattern) start() int {
	i := p.messages * patternStep % uint32(len(alphabet))
	p.messages++
	return int(i)
}

// fill writes the next message.
func (p *pattern) fill(buf []byte) {
	i := p.start()
	for len(buf) > 0 {
		n := copy(buf, alphabet[i:])
		buf, i = buf[n:], 0
	}
}

// check compares buf with the next message.
func (p *pattern) check(buf []byte) error {
	i := p.start()
	for pos := range buf {
		if want := alphabet[i]; buf[pos] != want {
			return fmt.Errorf("data check failed: message %d of %d bytes has %#02x at byte %d, expected %#02x (%q)",
				p.messages, len(buf), buf[pos], pos, want, want)
		}
		if i++; i == len(alphabet) {
			i = 0
		}
	}
	return nil
}
