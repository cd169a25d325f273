package endpoint

import "gofabric/internal/telemetry"

// InitDomain prepares d and takes a reference to its fabric. cfg.Info must have a Domain.
func (d *Domain) InitDomain(cfg DomainConfig) {
	d.init(cfg)
	d.work = &workQueue{d: d}
	d.entry = telemetry.Register(d, !cfg.Progress.Virtual())
}
