package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// quantityWriters are the files of pkg/objects that change a quantity or a count of nodes, queues,
// applications and accounts, by the name of the field. Everything else only reads it.
var quantityWriters = map[string][]string{
	"allocated":       {"ledger.go"},
	"placeholders":    {"ledger.go"},
	"pending":         {"application.go"},
	"peak":            {"ledger.go", "resource_names.go"},
	"boundCount":      {"ledger.go"},
	"pendingCount":    {"application.go"},
	"allocationsMade": {"ledger.go"},
	"total":           {"nodes.go"},
	"occupied":        {"nodes.go"},
	"available":       {"nodes.go"},
	"heldForNominees": {"preempting.go", "gang_replacement.go"},
}

// quotaWriters is the same for pkg/quota.
var quotaWriters = map[string][]string{
	"allocated":       {"posting.go", "account.go"},
	"pending":         {"posting.go"},
	"boundCount":      {"posting.go"},
	"capacity":        {"posting.go"},
	"nominated":       {"posting.go"},
	"expectedRelease": {"posting.go"},
	"overdueRelease":  {"posting.go"},
	"running":         {"posting.go", "account.go"},
	"used":            {"class_quotas.go"},
}

// quotaPostings are the methods of pkg/quota that change a quantity, and the files of pkg/objects that may call
// them. No other package may.
var quotaPostings = map[string][]string{
	"Post":           {"ledger.go"},
	"PostPending":    {"ledger.go", "applications.go"},
	"PostNominated":  {"preempting.go"},
	"PostPreempting": {"preempting.go"},
	"PostRunning":    {"max_applications.go"},
	"PostCapacity":   {"nodes.go"},
	"PostClassUsage": {"class_quotas.go"},
}

const (
	objectsDir = "pkg/objects"
	quotaDir   = "pkg/quota"
)

// quotaIsPostedByTheLedger refuses calls of the posting methods outside of the ledger.
func quotaIsPostedByTheLedger(s source) (problems []string) {
	if s.isTest() || s.dir() == quotaDir || !strings.HasPrefix(s.path, "pkg/") {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, ok := f.X.(*ast.SelectorExpr) // such as q.quota or m.account
		called, isCall := f.X.(*ast.CallExpr)
		if isCall { // such as q.Quota()
			on, ok = called.Fun.(*ast.SelectorExpr)
		}
		if !ok || !slices.Contains([]string{"quota", "Quota", "Account"}, on.Sel.Name) {
			return true
		}
		if callers, posts := quotaPostings[f.Sel.Name]; posts &&
			(s.dir() != objectsDir || !slices.Contains(callers, s.path[len(objectsDir)+1:])) {
			problems = append(problems,
				s.problem(call, "%s is called here; only %v of %s may call it", f.Sel.Name, callers, objectsDir))
		}
		return true
	})
	return problems
}

func TestLedger_PostsQuotas(t *testing.T) {
	checkModule(t, quotaIsPostedByTheLedger)
	const head = "package objects\n"
	checkSnippets(t, quotaIsPostedByTheLedger, []snippet{
		{name: "a posting outside of the ledger", text: head + "func f(q *Queue) { q.quota.Post(v, 1) }",
			want: []string{"Post is called here; only [ledger.go] of pkg/objects may call it"}},
		{name: "a posting of another package", path: "pkg/scheduler/ledger.go",
			text: "package scheduler\nfunc f(q *objects.Queue) { q.Quota().PostRunning(1) }",
			want: []string{"PostRunning is called here; only [max_applications.go] of pkg/objects may call it"}},
		{name: "the ledger itself", path: "pkg/objects/ledger.go", text: head + "func f(q *Queue) { q.quota.Post(v, 1) }"},
		{name: "a question", text: head + "func f(q *Queue) { q.quota.Allocated() }"},
		{name: "another method of that name", text: head + "func f(c client) { c.Post(url) }"},
	})
}

// changingMethods are the methods of a vector that change it.
var changingMethods = []string{"Add", "Sub", "Difference", "SetMax"}

// quantitiesHaveFewWriters refuses changes of quantities outside of the ledger. The first value of a new
// object, in a composite literal or from its own buffers, is no change.
func quantitiesHaveFewWriters(s source) (problems []string) {
	allWriters := map[string]map[string][]string{objectsDir: quantityWriters, quotaDir: quotaWriters}[s.dir()]
	if allWriters == nil || s.isTest() {
		return nil
	}
	name := s.path[len(s.dir())+1:]
	if strings.HasPrefix(name, "check") || strings.HasPrefix(name, "audit") {
		return nil // they have sums of their own
	}
	check := func(e ast.Expr) {
		x, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if !ok {
			return
		}
		if writers, quantity := allWriters[x.Sel.Name]; quantity && !slices.Contains(writers, name) {
			problems = append(problems, s.problem(e, "%s changes here; only %v may change it", x.Sel.Name, writers))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, e := range x.Lhs {
				if i < len(x.Rhs) && isOwnBuffer(x.Rhs[i]) {
					continue
				}
				check(e)
			}
		case *ast.IncDecStmt:
			check(x.X)
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.SelectorExpr); ok && slices.Contains(changingMethods, f.Sel.Name) {
				check(f.X)
			}
			if f, ok := x.Fun.(*ast.Ident); ok && f.Name == "addSigned" {
				if at, ok := x.Args[0].(*ast.UnaryExpr); ok {
					check(at.X)
				}
			}
		}
		return true
	})
	return problems
}

// isOwnBuffer reports whether e is an empty slice of the buffers of an object.
func isOwnBuffer(e ast.Expr) bool {
	slice, ok := e.(*ast.SliceExpr)
	if !ok {
		return false
	}
	of, ok := slice.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	buffers, ok := of.X.(*ast.SelectorExpr)
	return ok && buffers.Sel.Name == "buffers"
}

func TestLedger_QuantitiesHaveFewWriters(t *testing.T) {
	checkModule(t, quantitiesHaveFewWriters)
	const head = "package objects\n"
	checkSnippets(t, quantitiesHaveFewWriters, []snippet{
		{name: "a sum outside of the ledger", text: head + "func f(q *Queue) { q.allocated.Add(v) }",
			want: []string{"allocated changes here; only [ledger.go] may change it"}},
		{name: "a count", text: head + "func f(a *Application) { a.boundCount++ }",
			want: []string{"boundCount changes here; only [ledger.go] may change it"}},
		{name: "a signed sum", text: head + "func f(a *Application) { addSigned(&a.pending, v, 1) }",
			want: []string{"pending changes here; only [application.go] may change it"}},
		{name: "a sum of pkg/quota", path: "pkg/quota/headroom.go",
			text: "package quota\nfunc f(q *Queue) { q.allocated.Add(v) }",
			want: []string{"allocated changes here; only [posting.go account.go] may change it"}},
		{name: "an assignment", text: head + "func f(n *Node) { x, n.available = 1, v }",
			want: []string{"available changes here; only [nodes.go] may change it"}},
		{name: "the buffer of a new object", text: head + "func f(n *Node) { n.available = n.buffers.available[:0] }"},
		{name: "a question", text: head + "func f(n *Node) bool { return n.available.Covers(v) }"},
		{name: "the ledger itself", path: "pkg/objects/nodes.go",
			text: head + "func f(n *Node) { n.available.Difference(a, b, c) }"},
	})
}

// Partition is the object that everything could end in. New state belongs to a type of its own, and new
// queries to the objects that they are about (ADR 51).
const (
	maxPartitionFields  = 20
	maxPartitionMethods = 144 // too many: lower it whenever methods move
)

func TestPartition_StaysSmall(t *testing.T) {
	fields, methods := 0, 0
	for _, s := range moduleSources(t) {
		if s.dir() != objectsDir || s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "Partition" {
				for _, f := range spec.Type.(*ast.StructType).Fields.List {
					fields += len(f.Names)
				}
			}
			return true
		})
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && receiverType(f) == "Partition" {
				methods++
			}
		}
	}
	assert.Assert(t, fields > 10 && fields <= maxPartitionFields, "%d fields", fields)
	assert.Assert(t, methods > 50 && methods <= maxPartitionMethods, "%d methods", methods)
}

func receiverType(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
