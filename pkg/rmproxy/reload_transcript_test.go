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

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// TestReload_Transcripts reads the files as configurations of a shim and rollbacks of an
// operator, on virtual time. Run with -rewrite after a change, then read the diff.
func TestReload_Transcripts(t *testing.T) {
	for file, minDirectives := range map[string]int{"reload.txt": 20, "lowered_max.txt": 10} {
		t.Run(file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &transcript{resolver: &scriptedResolver{}, rm: &fakerm.Recorder{}}
				tr.InProcess = newTestInProcess(testOptions{})
				t.Cleanup(tr.Stop)
				directives := 0
				datadriven.RunTest(t, "testdata/transcripts/"+file, func(t *testing.T, d *datadriven.TestData) string {
					directives++
					out := tr.runReloadDirective(t, d)
					synctest.Wait()
					return out + answersByApp(tr.rm)
				})
				assert.Assert(t, directives >= minDirectives, "only %d directives", directives)
			})
		})
	}
}

// runReloadDirective runs the directives about configurations, and runDirective the others.
func (tr *transcript) runReloadDirective(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "config":
		m := &si.UpdateConfigurationRequest{RmID: "rm", Config: d.Input}
		if d.HasArg("level") {
			m.ExtraConfig = map[string]string{"log.level": directiveArg(d, "level")}
		}
		return errorLine(0, tr.UpdateConfiguration(m))
	case "rollback":
		n, err := strconv.ParseUint(d.CmdArgs[0].Key, 10, 64)
		assert.NilError(t, err)
		res, err := tr.Reloads().Rollback(t.Context(), n, 0)
		if err == nil {
			return fmt.Sprintf("generation %d: %s\n", res.Generation.Number, res.Generation.Changes.Summary())
		}
		return errorLine(res, err)
	case "add-node":
		n := fakerm.Node(directiveArg(d, "node"))
		n.Attributes = map[string]string{"si/node-partition": directiveArg(d, "partition")}
		assert.NilError(t, tr.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{n}}))
	case "remove-node":
		removal := &si.NodeInfo{NodeID: directiveArg(d, "node"), Action: si.NodeInfo_DECOMISSION,
			Attributes: map[string]string{"si/node-partition": directiveArg(d, "partition")}}
		assert.NilError(t, tr.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{removal}}))
	case "remove-app":
		assert.NilError(t, tr.UpdateApplication(&si.ApplicationRequest{RmID: "rm", Remove: []*si.RemoveApplicationRequest{
			{ApplicationID: directiveArg(d, "app"), PartitionName: directiveArg(d, "partition")},
		}}))
	case "partitions":
		return strings.Join(tr.Cluster().Partitions(), " ") + "\n"
	case "generations":
		var b strings.Builder
		for _, g := range tr.Reloads().Generations() {
			what := "the first"
			if g.Changes != nil {
				what = g.Changes.Summary()
			}
			fmt.Fprintf(&b, "%d from %s %s: %s; extra %v\n", g.Number, g.Source, g.From, what, g.Extra)
		}
		return b.String()
	default:
		return tr.runDirective(t, d)
	}
	return ""
}
