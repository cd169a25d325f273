package emulate

import (
	"github.com/prometheus/client_golang/prometheus"

	"gofabric/cmd/fabricd/internal/emulate/fabric"
	"gofabric/internal/fabricd/api"
)

// collector makes metrics of the links: two series for each link of the topology.
type collector struct{ f *fabric.Fabric }

func series(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gofabric_emulated_"+name, help, append([]string{"link", "direction"}, labels...), nil)
}

var (
	linkFrames = series("link_frames_total", "Frames that entered a direction of an emulated link.")
	linkBytes  = series("link_bytes_total", "Bytes of the frames that entered a direction of an emulated link.")
	linkFaults = series("link_faults_total", "What happened to frames on a direction of an emulated link.", "fault")
	linkQueue  = series("link_queue_frames", "Frames in the queue of a direction of an emulated link.")
	linkUp     = series("link_up", "1 if a direction of an emulated link is plugged in.")
	linkLoss   = series("link_loss_ratio", "Configured probability of loss of a direction of an emulated link.")
)

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{linkFrames, linkBytes, linkFaults, linkQueue, linkUp, linkLoss} {
		ch <- d
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	e := c.f.State()
	for i := range e.Links {
		l := &e.Links[i]
		collect(ch, l, l.A+" to "+l.B, &l.AB)
		collect(ch, l, l.B+" to "+l.A, &l.BA)
	}
}

func collect(ch chan<- prometheus.Metric, l *api.Link, way string, d *api.Direction) {
	put := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, v, append([]string{l.ID, way}, labels...)...)
	}
	s := &d.Stats
	put(linkFrames, prometheus.CounterValue, float64(s.Frames))
	put(linkBytes, prometheus.CounterValue, float64(s.Bytes))
	for _, f := range []struct {
		name string
		n    uint64
	}{
		{"lost", s.Lost}, {"dropped", s.Dropped}, {"marked", s.Marked}, {"duplicated", s.Duplicated}, {"reordered", s.Reordered}, {"corrupted", s.Corrupted}, {"cut", s.Cut},
	} {
		put(linkFaults, prometheus.CounterValue, float64(f.n), f.name)
	}
	put(linkQueue, prometheus.GaugeValue, float64(s.Queue))
	up := 0.0
	if l.Up {
		up = 1
	}
	put(linkUp, prometheus.GaugeValue, up)
	put(linkLoss, prometheus.GaugeValue, d.Faults.Loss)
}
