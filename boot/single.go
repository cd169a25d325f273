package boot

import (
	"context"
	"maps"
)

// local is the store of a job of one process.
type local struct{ values, fresh map[string][]byte }

func newLocal() *local { return &local{values: map[string][]byte{}, fresh: map[string][]byte{}} }

func (l *local) put(_ context.Context, key string, value []byte) error {
	l.fresh[key] = append([]byte{}, value...)
	return nil
}

func (l *local) get(_ context.Context, key string) ([]byte, error) {
	if v, ok := l.values[key]; ok {
		return append([]byte{}, v...), nil
	}
	return nil, ErrNoKey
}

func (l *local) forget(_ context.Context, keys []string) {
	for _, k := range keys {
		delete(l.values, k)
	}
}

func (l *local) fence(context.Context) error {
	maps.Copy(l.values, l.fresh)
	clear(l.fresh)
	return nil
}

func (l *local) close(context.Context) error { return nil }
