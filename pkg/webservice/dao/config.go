package dao

import (
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Config is the configuration in force as YuniKorn shows it: what the text of queues.yaml has (CFG-121). The keys are
// the names of Go fields in JSON and those of queues.yaml in YAML, which are the same in lower case.
type Config struct {
	Partitions               any               // a list, as in queues.yaml
	PriorityClasses          any               `json:",omitempty" yaml:",omitempty"`
	DisruptionBudgets        any               `json:",omitempty" yaml:",omitempty"`
	Checksum                 string            `json:",omitempty" yaml:",omitempty"`
	Extra                    map[string]string `json:",omitempty" yaml:",omitempty"`
	DeadlockDetectionEnabled bool              // there are no locks to watch
	DeadlockTimeoutSeconds   int
	Generation               uint64 // ours
}

// NewConfig shows the text of a generation, for YAML or for JSON. The text is valid: an error means that the reader
// and the parser disagree.
func NewConfig(g *reload.Generation, forJSON bool) (*Config, error) {
	top, err := queuesyaml.Show([]byte(g.Text), forJSON)
	if err != nil {
		return nil, err
	}
	body := &Config{Checksum: g.Checksum, Extra: g.Extra, Generation: g.Number}
	for i := 0; i+1 < len(top.Content); i += 2 {
		var value any = top.Content[i+1]
		if forJSON {
			if err := top.Content[i+1].Decode(&value); err != nil {
				return nil, err
			}
		}
		switch top.Content[i].Value {
		case "partitions", "Partitions":
			body.Partitions = value
		case "priorityclasses", "PriorityClasses":
			body.PriorityClasses = value
		case "disruptionbudgets", "DisruptionBudgets":
			body.DisruptionBudgets = value
		}
	}
	return body, nil
}
