package canopy

import "github.com/canopy-scheduler/canopy/internal/operators"

// openOperators reads what operators have switched; nil: it is not kept (OPS-4). Requires: DataDir is held by the store of
// configurations.
func (o *Options) openOperators() (*operators.File, error) {
	if o.DataDir == "" {
		return nil, nil
	}
	f, err := operators.Open(o.DataDir)
	if err != nil {
		return nil, o.refused("DataDir", err)
	}
	return f, nil
}
