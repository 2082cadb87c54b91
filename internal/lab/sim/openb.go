package sim

import _ "embed" // for openb.yaml

// openb.yaml is a copy of examples/openb.yaml; a test keeps the two equal.
//
//go:embed openb.yaml
var openbText string

// OpenbConfig returns the default queues.yaml for traces.
func OpenbConfig() string { return openbText }
