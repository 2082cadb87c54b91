// Command share says which part of a scheduler's process used the CPU of a profile: the core, the shim, the client of
// the API server, or the runtime of Go.
//
//	share FILE    one line of JSON with the percentage of each part
//
// A sample belongs to the innermost function of its stack that is of the core, of the shim or of a library that one of
// them calls for the API server; so what the shim does in a callback of the core is the shim's. What has none of these,
// such as the garbage collector, is the runtime's, whichever part made the garbage.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/google/pprof/profile"
)

// parts are the parts, by the beginnings of package paths. The interface's messages are made and read by both sides,
// and are no part.
var parts = []struct{ name, prefix string }{
	{"core", "github.com/canopy-scheduler/canopy/"},
	{"core", "github.com/apache/yunikorn-core/"},
	{"shim", "github.com/apache/yunikorn-k8shim/"},
	{"shim", "k8s.io/kubernetes/"}, // predicates
	{"client", "k8s.io/"},
	{"client", "net/http."},
	{"client", "golang.org/x/net/http2."},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: share FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		os.Exit(1)
	}
}

func run(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	percent, err := shares(p)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return json.NewEncoder(os.Stdout).Encode(percent)
}

// shares are the percentages of the CPU of a profile.
func shares(p *profile.Profile) (percent map[string]float64, err error) {
	value := len(p.SampleType) - 1
	if value < 0 || p.SampleType[value].Type != "cpu" {
		return nil, fmt.Errorf("it is no profile of the CPU")
	}
	percent, total := map[string]float64{"core": 0, "shim": 0, "client": 0, "runtime": 0}, 0.0
	for _, s := range p.Sample {
		percent[part(s)] += float64(s.Value[value])
		total += float64(s.Value[value])
	}
	if total == 0 {
		return nil, fmt.Errorf("it has no samples")
	}
	for name := range percent {
		percent[name] *= 100 / total
	}
	return percent, nil
}

// part is the part to which a sample belongs. The innermost function comes first.
func part(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			for _, p := range parts {
				if strings.HasPrefix(line.Function.Name, p.prefix) {
					return p.name
				}
			}
		}
	}
	return "runtime"
}
