package queuesyaml

import _ "embed" // for default.yaml

//go:embed default.yaml
var defaultText string

// Default is the embedded document. It is in force when the resource manager sends an
// empty text (CFG-8).
func Default() []byte { return []byte(defaultText) }
