package canopy_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
)

// Each member has the metrics of the partitions that it leads: all members together have each partition once.
func TestSpread_MetricsOfLedPartitions(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2", "p3", "p4"))
	g.start("a")
	g.start("b")
	v := g.balanced(map[string]int{"a": 2, "b": 2})
	g.connect(g.members["a"], "p1")
	by, _ := v.leads()
	pattern := regexp.MustCompile(`(?m)^canopy_config_generation\{partition="(\w+)"\} 1$`)
	nodes := map[string]int{}
	for name, m := range g.members {
		eventually(t, func() bool {
			code, text := g.get(m, "/metrics")
			assert.Equal(t, code, http.StatusOK)
			var shown []string
			for _, found := range pattern.FindAllStringSubmatch(text, -1) {
				shown = append(shown, found[1])
			}
			nodes[name] = len(regexp.MustCompile(`(?m)^yunikorn_scheduler_node\{partition="p1",state="active"\} 1$`).FindAllString(text, -1))
			return fmt.Sprint(shown) == fmt.Sprint(by[name])
		})
	}
	assert.Equal(t, nodes["a"]+nodes["b"], 1)
}
