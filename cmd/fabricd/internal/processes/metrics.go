package processes

import "github.com/prometheus/client_golang/prometheus"

// counts has the part's own counters.
type counts struct {
	refused prometheus.Counter
	stalls  *prometheus.CounterVec
}

func (c *counts) register(r *prometheus.Registry, t *table) {
	c.refused = prometheus.NewCounter(prometheus.CounterOpts{Name: "fabricd_processes_refused_total", Help: "Processes whose connection was refused"})
	c.stalls = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fabricd_stalls_total", Help: "Stalls in the log, by the operation or object that makes no progress"}, []string{"what"})
	count := func(silent bool) func() float64 {
		return func() float64 {
			n, s := t.len()
			if silent {
				n = s
			}
			return float64(n)
		}
	}
	r.MustRegister(c.refused, c.stalls,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fabricd_processes", Help: "Processes that have registered"}, count(false)),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fabricd_processes_silent", Help: "Processes that have not answered the last request"}, count(true)))
}
