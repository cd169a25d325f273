package strict

import (
	"context"

	"gofabric/util/hook"
)

// counter is a counter. A read of it makes progress, as a read of a queue does.
type counter struct {
	hook.Counter
	d *domain
}

// Value is fi_cntr_read(3).
func (c *counter) Value() uint64 {
	c.d.release()
	return c.Counter.Value()
}

// Wait is fi_cntr_wait(3).
func (c *counter) Wait(ctx context.Context, threshold uint64) error {
	c.d.release()
	return c.Counter.Wait(ctx, threshold)
}

// Ready implements cq.Pollable.
func (c *counter) Ready(report bool) (bool, error) {
	c.d.release()
	return c.Counter.Ready(report)
}

// Close is fi_close(3).
func (c *counter) Close() error {
	err := c.Counter.Close()
	if err == nil {
		c.d.back(&c.d.cntrs)
	}
	return err
}
