package metrics

// Config has the state and the counts of the configuration.
type Config struct {
	Generation uint64            // in force
	HasStore   bool              // generations are kept for the next start
	Stored     bool              // the generation in force is
	Rejections map[string]uint64 // configurations that were rejected, by source
}

// SetConfigSource sets the source of Config. It must be called before the first scrape.
func (m *Metrics) SetConfigSource(source func() Config) { m.config = source }

var (
	configGeneration = gauge("canopy_config_generation",
		"Generation of the configuration in force.")
	configStored = gauge("canopy_config_stored",
		"1 if the generation in force is stored in --data-dir; 0: a restart loses it.")
	configRejections = counter("canopy_config_rejections_total",
		"Configurations that were rejected, by source; the one in force stayed.", "source")
)

// writeConfig writes the families of the configuration (OBS-89).
func (s *scrape) writeConfig(to *gathering) {
	if s.m.config == nil {
		return
	}
	c := s.m.config()
	to.value(configGeneration, float64(c.Generation))
	if c.HasStore {
		to.flag(configStored, c.Stored)
	}
	to.countsByLabel(configRejections, c.Rejections)
}
