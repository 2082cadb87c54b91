package configs

import _ "embed" // for default.yaml

//go:embed default.yaml
var defaultText string

// Default is the document that is used when the resource manager sends none
// (behaviour.md 1.2.9).
func Default() []byte { return []byte(defaultText) }
