package scheduler

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// consumers get the changes of a partition, in the columns of decisions.
var consumers = []string{
	"objects.ordering", "objects.routineChanges", "objects.retries", "objects.snapshotChanges", "objects.stateEvents",
	"nodeselection.Nodes", "clusterquota.Quotas", "fairshare.Shares", "preemption.changes", "reservation.changes",
	"runtimes.Engine",
	"ageing.Engine", "fairness.Engine", "gangscheduling.Gangs", "scheduler.waitingChanges",
	"scheduler.predicateAnswers", "victim.nodeCache",
}

// decisions holds for each kind of change which consumers want it. A dot is a decision too: the comment of Wants says
// why.
var decisions = [objects.ChangeKinds]string{
	objects.AskAdded:                ". x . x . x . x x x . x x x x . .",
	objects.AskRemoved:              ". . . x . x . x x x . x x . x . .",
	objects.NominationAdded:         ". x . x . . . x . . . . . . x . .",
	objects.NominationRemoved:       ". x . x . . . x . . . . . . . . .",
	objects.NominationEnded:         ". x . . . . . . x x . . . x x . .",
	objects.ReservationAdded:        ". x . x . . . . . x . . . . . . .",
	objects.ReservationEnded:        ". x . x . . . . . x . . . . . . .",
	objects.WaitingStateChanged:     ". . . x . . . . . . . . . . . . .",
	objects.AllocationPosted:        ". x . x . x . x . x x x x x . . .",
	objects.AllocationUnposted:      ". x . x . x . x . x x x x . . . .",
	objects.AllocationResized:       ". x . x . . . x . . . . . x . . .",
	objects.AllocationTagged:        ". x . x . . . . . . . . . . . x .",
	objects.PreemptionMarked:        ". x . x . . . x x . . . . . . x x",
	objects.PreemptionUnmarked:      ". x . x . . . x x . . . . x . . x",
	objects.EndOrdered:              ". x . x . . . . x . x . . . . x x",
	objects.ReplacementAdded:        ". x . x . . . . . . . . . . x . .",
	objects.ReplacementEnded:        ". x . x . . . . . x . . . x x . .",
	objects.Replaced:                ". x . . . . . . . . . . . x . . .",
	objects.GangCountsChanged:       ". x . x . . . . . . . . . x . . .",
	objects.GangRefused:             ". x . . . . . . . . . . . . . . .",
	objects.AskGroupHeld:            ". x . . . . . x x x . . . x x . .",
	objects.NodeAdded:               "x x . x . x . . . x . . . x . . x",
	objects.NodeRemoved:             "x x . x . x . . . x . . . x . x x",
	objects.NodeUsageChanged:        "x . . x x x . . x x . . . x . x x",
	objects.NodeFreed:               ". x x . . x . . . x . . . x . . .",
	objects.NodeRestored:            ". x x . . . . . . . . . . . . . .",
	objects.SchedulabilityChanged:   "x x . x . x . . x x . . . x . . x",
	objects.NodeAttributesChanged:   "x x . x . x . . x x . . . x . . x",
	objects.NodeBudgetsChanged:      ". x . x . . . . . . . . . . . . x",
	objects.ForeignAdded:            ". x . . . x . . . . . . . . . . .",
	objects.ForeignRemoved:          ". x . . . x . . . . . . . . . . .",
	objects.CapacityChanged:         "x x . x . . x x . x . . x . . . .",
	objects.QueueUsageChanged:       "x . . . . . . . x . . . . . . . .",
	objects.QueuePreemptingChanged:  ". x . . . . . . x . . . . . . . .",
	objects.QueueRunningChanged:     "x . . . . . . . . . . . . . . . .",
	objects.QueueSettingsChanged:    "x x . x . . x x x x . x x . x . .",
	objects.RunTimesChanged:         ". x . . . . . . . . x . . . . . .",
	objects.QueueChanged:            ". x . x . . . x . . . . . . . . .",
	objects.QueueStateChanged:       ". x . . x . x . . . . . . . . . .",
	objects.QuotasChanged:           "x x x x . . x x x x . . x . x . .",
	objects.QueueTreeChanged:        "x x . . . . . x . . . . . . x . .",
	objects.AccountMembersChanged:   "x x . x . . . . . x . . . . x . .",
	objects.AccountUsageChanged:     "x . . x . . . . . . . . . . . . .",
	objects.AccountRunningChanged:   "x . . x . . . . . . . . . . . . .",
	objects.ApplicationAdded:        ". x . x . . . . . . . . . . . . .",
	objects.ApplicationRemoved:      ". x . x . . . x x . . . x x x . .",
	objects.ApplicationStateChanged: ". . . x x . . . . x . . . . . . .",
	objects.ApplicationExpired:      ". x . . x . . . . . . . . . . . .",
	objects.RunningChanged:          ". . . . . . . . x x . . . . . . .",
	objects.FirstStartingChanged:    ". x . . . . . . x x . . . . . . .",
	objects.MayBeAllocatedChanged:   ". x . x . . . x x x . . . x x . .",
	objects.ApplicationMoved:        ". x . x . . . x x x . x x x x . .",
	objects.TurnChanged:             ". x . x . . . . . . . . . . . . .",
	objects.MayPreemptChanged:       ". x . . . . . . x . . . . . . . .",
	objects.ConfigurationChanged:    ". x . . . . . x x x . x x . x . x",
	objects.SettingsApplied:         ". x x . . x . . x x . . . . x . .",
	objects.Rebuilding:              "x x x x . x . x x x . . . . x . .",
	objects.ResourceAdded:           "x x . . . x . x . . . . x . . . .",
	objects.RefusalsMayEnd:          ". x x . . . . . . x . . . x . . .",
	objects.NodesOpened:             ". . . . . . . . . x . . . x . . .",
}

func TestJournal_EveryConsumerDecidesAboutEveryKind(t *testing.T) {
	var names []string
	conf := configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true}}
	part := New(conf, nil).Partition()
	for _, x := range objects.Consumers(part) {
		if shares, ok := x.(*fairshare.Shares); ok {
			victim.NewSearch(shares, 0, nil) // an Engine makes it with its first search
		}
	}
	all := objects.Consumers(part)
	for _, x := range all {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", x), "*"))
	}
	assert.DeepEqual(t, names, consumers)
	for k, row := range decisions {
		wanted := strings.Fields(row)
		assert.Equal(t, len(wanted), len(all), "kind %d is not decided by every consumer: %q", k, row)
		for i, x := range all {
			assert.Equal(t, x.Wants().Has(objects.ChangeKind(k)), wanted[i] == "x", "kind %d, consumer %T", k, x)
		}
	}
}

// A kind that is wanted and has no case would be lost without a sign.
func TestJournal_ConsumersActOnWhatTheyWant(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	assert.NilError(t, err)
	deeper, err := filepath.Glob("../*/*/*.go")
	assert.NilError(t, err)
	wants, cases := map[string][]string{}, map[string][]string{}
	for _, name := range append(files, deeper...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		assert.NilError(t, err)
		for _, d := range f.Decls {
			method, ok := d.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "Wants" && method.Name.Name != "On" {
				continue
			}
			of := f.Name.Name + "." + receiverName(method)
			ast.Inspect(method.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op == token.SHL {
						wants[of] = append(wants[of], kindName(n.Y))
					}
				case *ast.CaseClause:
					for _, kind := range n.List {
						cases[of] = append(cases[of], kindName(kind))
					}
					if n.List == nil {
						cases[of] = append(cases[of], "default")
					}
				}
				return true
			})
		}
	}
	for of, kinds := range wants {
		assert.Assert(t, slices.Contains(consumers, of), "%s is not attached", of)
		slices.Sort(kinds)
		slices.Sort(cases[of])
		assert.Equal(t, len(slices.Compact(cases[of])), len(cases[of]), "%s", of)
		if !slices.Contains(cases[of], "default") {
			assert.DeepEqual(t, cases[of], kinds)
		}
	}
	assert.Equal(t, len(wants), len(consumers))
}

// kindName is the name of a kind of change, in its own package or in another.
func kindName(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return e.(*ast.Ident).Name
}

func receiverName(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	return of.(*ast.Ident).Name
}
