package rmproxy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/cockroachdb/datadriven"
	"gotest.tools/v3/assert"
)

// TestConversationsAboutReload reads the files as talks between a shim and the scheduler
// about configurations, with somebody who rolls back now and then, on virtual time. Run with
// -rewrite after a change, then read the diff.
func TestConversationsAboutReload(t *testing.T) {
	for file, least := range map[string]int{"reload.txt": 20, "lowered_max.txt": 10} {
		t.Run(file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &talk{board: &switchboard{}, shim: &scribe{}}
				c.InProcess = NewInProcess(Options{})
				t.Cleanup(c.Stop)
				directives := 0
				datadriven.RunTest(t, "testdata/conversations/"+file, func(t *testing.T, d *datadriven.TestData) string {
					directives++
					out := c.reload(t, d)
					synctest.Wait()
					return out + c.shim.told()
				})
				assert.Assert(t, directives >= least, "only %d directives", directives)
			})
		})
	}
}

// reload is what is said about configurations; say knows the rest.
func (c *talk) reload(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "config":
		m := &si.UpdateConfigurationRequest{RmID: "rm", Config: d.Input}
		if d.HasArg("level") {
			m.ExtraConfig = map[string]string{"log.level": word(d, "level")}
		}
		return failure(0, c.UpdateConfiguration(m))
	case "rollback":
		n, err := strconv.ParseUint(d.CmdArgs[0].Key, 10, 64)
		assert.NilError(t, err)
		res, err := c.Reloads().Rollback(t.Context(), n, 0)
		if err == nil {
			return fmt.Sprintf("generation %d: %s\n", res.Generation.Number, res.Generation.Changes.Summary())
		}
		return failure(res, err)
	case "add-node":
		n := nodeCreated(word(d, "node"))
		n.Attributes = map[string]string{"si/node-partition": word(d, "partition")}
		assert.NilError(t, c.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{n}}))
	case "remove-node":
		gone := &si.NodeInfo{NodeID: word(d, "node"), Action: si.NodeInfo_DECOMISSION,
			Attributes: map[string]string{"si/node-partition": word(d, "partition")}}
		assert.NilError(t, c.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{gone}}))
	case "remove-app":
		assert.NilError(t, c.UpdateApplication(&si.ApplicationRequest{RmID: "rm", Remove: []*si.RemoveApplicationRequest{
			{ApplicationID: word(d, "app"), PartitionName: word(d, "partition")},
		}}))
	case "partitions":
		return strings.Join(c.Cluster().Partitions(), " ") + "\n"
	case "generations":
		var b strings.Builder
		for _, g := range c.Reloads().Generations() {
			what := "the first"
			if g.Changes != nil {
				what = g.Changes.Summary()
			}
			fmt.Fprintf(&b, "%d from %s %s: %s; extra %v\n", g.Number, g.Source, g.From, what, g.Extra)
		}
		return b.String()
	default:
		return c.say(t, d)
	}
	return ""
}
