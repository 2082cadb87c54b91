package objects

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// decisions holds for each kind of change which consumers want it, in the order of journal.consumers: order, routine,
// retries, enforcement, preemption, snapshots, events, gangs, waiting, answers, reserving, affinity, topology. A dot is
// a decision too: the comment of wants says why.
var decisions = [changeKinds]string{
	askAdded:                ". x . . x x . x x . x x .",
	askRemoved:              ". . . . x x . . x . . x .",
	nominationAdded:         ". x . . . x . . x . . . .",
	nominationRemoved:       ". x . . . x . . . . . . .",
	nominationEnded:         ". x . . x . . x x . x . .",
	reservationAdded:        ". x . . . x . . . . x . .",
	reservationEnded:        ". x . . . x . . . . x . .",
	waitingStateChanged:     ". . . . . x . . . . . . .",
	allocationPosted:        ". x . . . x . x . . x x .",
	allocationUnposted:      ". x . . . x . . . . x x .",
	allocationResized:       ". x . . . x . x . . . . .",
	allocationTagged:        ". x . . . x . . . x . . .",
	preemptionMarked:        ". x . . x x . . . x . . .",
	preemptionUnmarked:      ". x . . x x . x . . . . .",
	placeholderEnding:       ". x . . x x . . . x . . .",
	replacementAdded:        ". x . . . x . . x . . . .",
	replacementEnded:        ". x . . . x . x x . x . .",
	replaced:                ". x . . . . . x . . . . .",
	gangCountsChanged:       ". x . . . x . . . . . . .",
	gangRefused:             ". x . . . . . . . . . . .",
	askGroupHeld:            ". x . . x . . x x . x . .",
	nodeAdded:               "x x . . x x . . . . x x x",
	nodeRemoved:             "x x . . x x . . . . x x x",
	nodeUsageChanged:        "x . . . x x x . . x x x x",
	nodeFreed:               ". x x . . . . x . . x x .",
	nodeRestored:            ". x x . . . . . . . . . .",
	schedulabilityChanged:   "x x . . x x . . . . x x x",
	nodeAttributesChanged:   "x x . . x x . . . . x x x",
	nodeBudgetsChanged:      ". x . . x x . . . . . . .",
	foreignAdded:            ". x . . . . . . . . . x .",
	foreignRemoved:          ". x . . . . . . . . . x .",
	capacityChanged:         "x x . . . x . . . . x . .",
	queueUsageChanged:       "x . . x . . . . . . . . .",
	queuePreemptingChanged:  ". x . x . . . . . . . . .",
	queueRunningChanged:     "x . . . . . . . . . . . .",
	queueSettingsChanged:    "x x . x . x . . x . x . .",
	queueChanged:            ". x . . . x . . . . . . .",
	queueStateChanged:       ". x . . . . x . . . . . .",
	quotasChanged:           "x x x . x x . . x . x . .",
	queueTreeChanged:        "x x . . . . . . x . . . .",
	accountMembersChanged:   "x x . . . x . . x . x . .",
	accountUsageChanged:     "x . . . . x . . . . . . .",
	accountRunningChanged:   "x . . . . x . . . . . . .",
	applicationAdded:        ". x . . . x . . . . . . .",
	applicationRemoved:      ". x . . x x . x x . . . x",
	applicationStateChanged: ". . . . . x x . . . x . .",
	applicationExpired:      ". x . . . . x . . . . . .",
	runningChanged:          ". . . . x . . . . . x . .",
	firstStartingChanged:    ". x . . x . . . . . x . .",
	mayBeAllocatedChanged:   ". x . . x x . x x . x . .",
	applicationMoved:        ". x . . x x . x x . x . .",
	mayPreemptChanged:       ". x . . x . . . . . . . .",
	configurationChanged:    ". x . . x . . . x . x . .",
	settingsApplied:         ". x x x . . . . x . x x .",
	rebuilding:              "x x x . x x . . x . x x .",
	resourceAdded:           "x x . . . . . . . . . x .",
	refusalsMayEnd:          ". x x . . . . x . . x . .",
}

func TestJournal_EveryConsumerDecidesAboutEveryKind(t *testing.T) {
	var j journal
	all := j.consumers()
	for k, row := range decisions {
		wanted := strings.Fields(row)
		assert.Equal(t, len(wanted), len(all), "kind %d is not decided by every consumer: %q", k, row)
		for i, x := range all {
			assert.Equal(t, x.wants().has(changeKind(k)), wanted[i] == "x", "kind %d, consumer %T", k, x)
		}
	}
	fields := reflect.TypeFor[journal]()
	for i := range fields.NumField() {
		of := reflect.PointerTo(fields.Field(i).Type)
		listed := slices.ContainsFunc(all, func(x consumer) bool { return reflect.TypeOf(x) == of })
		assert.Equal(t, of.Implements(reflect.TypeFor[consumer]()), listed, "%s", of)
	}
}

// A kind that is wanted and has no case would be lost without a sign.
func TestJournal_ConsumersActOnWhatTheyWant(t *testing.T) {
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	consumers := 0
	wants, cases := map[string][]string{}, map[string][]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		assert.NilError(t, err)
		for _, d := range f.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "wants" && f.Name.Name != "on" {
				continue
			}
			of := receiverName(f)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if kind, ok := n.Y.(*ast.Ident); ok && n.Op == token.SHL {
						wants[of] = append(wants[of], kind.Name)
					}
				case *ast.CaseClause:
					for _, kind := range n.List {
						cases[of] = append(cases[of], kind.(*ast.Ident).Name)
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
		consumers++
		slices.Sort(kinds)
		slices.Sort(cases[of])
		assert.Equal(t, len(slices.Compact(cases[of])), len(cases[of]), "%s", of)
		if !slices.Contains(cases[of], "default") {
			assert.DeepEqual(t, cases[of], kinds)
		}
	}
	assert.Equal(t, consumers, len((&journal{}).consumers()))
}

func receiverName(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	return of.(*ast.Ident).Name
}

func TestJournal_ConsumersPostNothing(t *testing.T) {
	var j journal
	j.posting = true
	assert.Assert(t, func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		j.post(change{kind: refusalsMayEnd})
		return false
	}())
}
