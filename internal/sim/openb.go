package sim

import _ "embed" // for openb.yaml

// openb.yaml is a copy of examples/openb.yaml, which people find more easily; a test
// keeps the two alike.
//
//go:embed openb.yaml
var openbText string

// OpenbConfig is the queues.yaml for traces when nobody gives another.
func OpenbConfig() string { return openbText }
