package queuesyaml

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestLoad_RefusesDocumentWithoutPartitions(t *testing.T) {
	const hint = " (hint: the smallest one is partitions: [{queues: [{name: root, submitacl: '*'}]}])"
	for text, want := range map[string]string{
		"": "is empty", "\n": "is empty", "# nothing": "is empty", "---\n": "is empty", "null": "is empty",
		"{}": "has no partition", "partitions:": "has no partition", "partitions: []": "has no partition",
	} {
		c, problems := Load([]byte(text))
		assert.Assert(t, c == nil, text)
		assert.Equal(t, problems.Error(), "1:1: error [no-partition] the document "+want+hint, text)
	}
	mustLoad(t, "partitions: [{queues: [{name: root, submitacl: '*'}]}]")
}

// A Config has the partitions that are served. The others are checked, and one that is missing is an error.
func TestLoad_ServedPartitions(t *testing.T) {
	const root = "queues: [{name: root, submitacl: '*'}]"
	const text = "partitions:\n- {" + root + "}\n- {name: b, " + root + "}\n- {name: C, " + root + "}\n"
	for want, served := range map[string][]string{
		"[default b C]": nil, "[default]": {"default"}, "[b C]": {"C", "b", "b"},
	} {
		c, problems := LoadWith([]byte(text), Options{Partitions: served})
		assert.Assert(t, !problems.HasErrors(), "%v", problems)
		var names []string
		for _, p := range c.Partitions {
			names = append(names, p.Name)
		}
		assert.Equal(t, fmt.Sprint(names), want)
	}
	for wrong, want := range map[string]string{
		text: `1:1: error [no-partition] there is no partition "a", which is to be served`,
		"partitions:\n- {name: a, " + root + "}\n- {name: b, queues: [{name: x.y}]}\n": "x.y",
	} {
		c, problems := LoadWith([]byte(wrong), Options{Partitions: []string{"a"}})
		assert.Assert(t, c == nil)
		assert.ErrorContains(t, problems, want)
	}
}

func TestDefault_LoadsWithoutProblems(t *testing.T) {
	p := mustLoad(t, string(Default())).Partitions[0]
	assert.Equal(t, p.Name, "default")
	assert.DeepEqual(t, p.PlacementRules, []placement.Rule{{Kind: placement.Tag, Value: "namespace", Create: true}})
	assert.Equal(t, p.Root.Name, "root")
	assert.Assert(t, p.Root.Parent)
	assert.Assert(t, p.Root.SubmitACL.Allows(security.User{Name: "ann"}))
	assert.Assert(t, p.Root.AdminACL.IsEmpty())
}

func TestLoad_ProductionDocumentHasNoWarnings(t *testing.T) {
	text, err := os.ReadFile("testdata/production.yaml")
	assert.NilError(t, err)
	c := mustLoad(t, string(text))

	p := c.Partitions[0]
	assert.Equal(t, len(c.Partitions), 2)
	assert.Assert(t, p.PreemptionEnabled)
	assert.Assert(t, p.QuotaPreemptionEnabled)
	assert.Equal(t, p.NominationTimeout, 10*time.Minute)
	assert.Equal(t, c.Partitions[1].NominationTimeout, 5*time.Minute)
	assert.Equal(t, p.NodePressureGrace, 30*time.Second)
	assert.Equal(t, c.Partitions[1].NodePressureGrace, time.Minute)
	assert.Assert(t, !p.PriorityDisabled && c.Partitions[1].PriorityDisabled)
	assert.Equal(t, p.Churn,
		configs.Churn{CircuitBreaker: false, Cycles: 4, Window: time.Hour, CoolDown: 90 * time.Second})
	assert.Equal(t, c.Partitions[1].Churn,
		configs.Churn{CircuitBreaker: true, Cycles: 10, Window: 30 * time.Minute, CoolDown: 5 * time.Minute})
	assert.Equal(t, p.UserGroupResolver, "ldap")
	assert.DeepEqual(t, p.NodeSortPolicy, policies.NodeSortPolicy{Sort: policies.NodeSortBinPacking,
		Weights: []policies.Weight{{Resource: "nvidia.com/gpu", Weight: 4}, {Resource: "vcore", Weight: 1}}})
	assert.Equal(t, len(p.PlacementRules), 3)
	assert.Equal(t, p.PlacementRules[1].Parent.Value, "root.tenants")
	assert.Assert(t, p.PlacementRules[1].Parent.Filter.GroupPattern.MatchString("team-red"))
	assert.DeepEqual(t, p.PlacementRules[2].Filter.Users, []string{"alice", "bob"})
	assert.Assert(t, p.PlacementRules[2].Filter.Deny)

	batch := mustFind(t, c, "root.research.batch")
	assert.DeepEqual(t, batch.Max.Map(), map[string]resources.Quantity{"vcore": 64_000, "memory": 256 << 30})
	assert.DeepEqual(t, batch.Guaranteed.Map(), map[string]resources.Quantity{"vcore": 16_500})
	assert.Equal(t, batch.AppSort, policies.Fair)
	assert.Equal(t, batch.MaxApplications, uint64(20))
	research := mustFind(t, c, "root.research")
	assert.Assert(t, research.SubmitACL.Allows(security.User{Name: "carol", Groups: []string{"data.science"}}))
	assert.Assert(t, !research.SubmitACL.Allows(security.User{Name: "research"}))
	assert.DeepEqual(t, batch.Limits[0].Users, []string{"system:serviceaccount:spark:driver"})
	assert.Equal(t, c.Partitions[1].Name, "gpu")
	assert.Assert(t, !c.Partitions[1].PreemptionEnabled)
}

func TestLoad_RootQueueIsFoundOrAdded(t *testing.T) {
	for _, c := range []struct {
		name, queues string
		submit       bool
		want         []string // the paths of all queues
	}{
		{"a single top queue called root is root", "[{name: root, submitacl: '*', queues: [{name: a}]}]", true,
			[]string{"root", "root.a"}},
		{"root in any case", "[{name: RooT, submitacl: '*', queues: [{name: A}]}]", true, []string{"root", "root.a"}},
		{"a root queue is added above a single top queue of another name", "[{name: abc, submitacl: '*'}]", false,
			[]string{"root", "root.abc"}},
		{"a root queue is added above several top queues", "[{name: root}, {name: abc, submitacl: '*'}]", false,
			[]string{"root", "root.root", "root.abc"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := mustLoad(t, "partitions: [{queues: "+c.queues+"}]").Partitions[0].Root
			assert.DeepEqual(t, paths(&root, ""), c.want)
			assert.Assert(t, root.Parent)
			assert.Equal(t, !root.SubmitACL.IsEmpty(), c.submit)
		})
	}
	config, problems := Load([]byte("partitions: [{queues: []}]"))
	assert.DeepEqual(t, positions(problems), []string{"1:14 no-submit-access"})
	assert.DeepEqual(t, paths(&config.Partitions[0].Root, ""), []string{"root"})
}

func paths(q *configs.Queue, above string) []string {
	out := []string{above + q.Name}
	for i := range q.Children {
		out = append(out, paths(&q.Children[i], above+q.Name+".")...)
	}
	return out
}

func TestLoad_NestedQueueNamedRootKeepsResources(t *testing.T) {
	c := mustLoad(t, rootHead+"    queues: [{name: root, resources: {max: {memory: 5Gi}}}]\n")
	assert.Equal(t, mustFind(t, c, "root.root").Max.String(), "≤{memory=5368709120}")
}

func TestLoad_ParentByFlagOrByChildren(t *testing.T) {
	c := mustLoad(t, rootHead+`
    parent: false
    queues:
    - name: leaf
    - name: flagged
      parent: true
    - name: full
      parent: false
      queues: [{name: leaf}]
    - name: yaml11
      parent: yes
`)
	for path, want := range map[string]bool{
		"root": true, "root.leaf": false, "root.flagged": true, "root.full": true, "root.full.leaf": false,
		"root.yaml11": true,
	} {
		assert.Equal(t, mustFind(t, c, path).Parent, want, path)
	}
}

func TestLoad_AllZeroResourcesAreNotSet(t *testing.T) {
	c, _ := Load([]byte(rootHead + `
    queues:
    - name: a
      resources: {max: {memory: 0}, guaranteed: {memory: 0}}
    - name: b
      resources: {max: {memory: 0, vcore: 1}, guaranteed: {memory: 0, vcore: 1}}
    - name: c
      resources: {max: ~, guaranteed: {}}
`))
	a, b, d := mustFind(t, c, "root.a"), mustFind(t, c, "root.b"), mustFind(t, c, "root.c")
	assert.Assert(t, a.Max.IsUnlimited() && a.Guaranteed.IsEmpty())
	assert.Equal(t, b.Max.String()+b.Guaranteed.String(), "≤{memory=0 vcore=1000}≥{memory=0 vcore=1000}")
	assert.Assert(t, d.Max.IsUnlimited() && d.Guaranteed.IsEmpty())
}

func TestLoad_PartitionLimitsApplyToRoot(t *testing.T) {
	const (
		list      = "limits: [{limit: all, users: ['*'], maxapplications: 5, maxresources: {memory: 1Gi}}]"
		root      = "queues: [{name: root, submitacl: '*'}]"
		limited   = "queues: [{name: root, submitacl: '*', " + list + "}]"
		partition = "partitions: [{"
	)
	want := []limits.Limit{{Description: "all", Users: []string{"*"}, MaxApplications: 5,
		MaxResources: resources.LimitFromMap(map[string]resources.Quantity{"memory": 1 << 30})}}
	for name, text := range map[string]string{
		"only the partition's":   partition + list + ", " + root + "}]",
		"only root's":            partition + limited + "}]",
		"the same twice":         partition + list + ", " + limited + "}]",
		"root is added, as well": partition + list + ", queues: [{name: a, submitacl: '*'}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			got := mustLoad(t, text).Partitions[0].Root.Limits
			assert.Equal(t, len(got), 1)
			assert.DeepEqual(t, got[0].Users, want[0].Users)
			assert.Equal(t, got[0].Description, want[0].Description)
			assert.Equal(t, got[0].MaxApplications, want[0].MaxApplications)
			assert.Assert(t, got[0].MaxResources.Equal(want[0].MaxResources))
		})
	}
}

func TestPlacementFilter_DenyIsCaseInsensitive(t *testing.T) {
	for kind, want := range map[string]bool{"deny": true, "DENY": true, "Deny": true, "ALLOW": false, "": false} {
		filter := "{type: '" + kind + "', users: [bob]}"
		c := mustLoad(t, rootHead+"  placementrules: [{name: user, filter: "+filter+"}]\n")
		assert.Equal(t, c.Partitions[0].PlacementRules[0].Filter.Deny, want, kind)
	}
}

func TestPlacementFilter_SingleNameMayBeAnExpression(t *testing.T) {
	c := mustLoad(t, rootHead+`
  placementrules:
  - name: User
    filter: {users: ["^dev"], groups: [ops]}
  - name: user
    filter: {users: [a, b]}
`)
	first, second := c.Partitions[0].PlacementRules[0].Filter, c.Partitions[0].PlacementRules[1].Filter
	assert.Assert(t, first.UserPattern.MatchString("developer"))
	assert.Equal(t, len(first.Users), 0)
	assert.DeepEqual(t, first.Groups, []string{"ops"})
	assert.Assert(t, first.GroupPattern == nil)
	assert.DeepEqual(t, second.Users, []string{"a", "b"})
}

func TestPlacementRule_FixedValueBeginsAtRootOnlyWhenQualified(t *testing.T) {
	c := mustLoad(t, rootHead+`
    queues: [{name: RootFoo}]
  placementrules:
  - name: fixed
    value: ROOTfoo
  - name: FIXED
    value: Root.RootFoo
  - name: fixed
    value: rootbar
    create: true
    parent: {name: user}
`)
	var got []string
	for _, rule := range c.Partitions[0].PlacementRules {
		got = append(got, rule.Kind.String()+" "+rule.Value)
	}
	assert.DeepEqual(t, got, []string{"fixed rootfoo", "fixed root.rootfoo", "fixed rootbar"})
}

func TestNodeSortPolicy_ZeroWeightsAreIgnored(t *testing.T) {
	for text, want := range map[string]policies.NodeSortPolicy{
		"{}":                    policies.DefaultNodeSortPolicy(),
		"~":                     policies.DefaultNodeSortPolicy(),
		"{type: fair}":          policies.DefaultNodeSortPolicy(),
		"{resourceweights: {}}": policies.DefaultNodeSortPolicy(),
		"{type: binpacking}":    {Sort: policies.NodeSortBinPacking, Weights: policies.DefaultNodeSortPolicy().Weights},
		"{resourceweights: {b: 2, a: 0.5, c: 0}}": {
			Weights: []policies.Weight{{Resource: "a", Weight: 0.5}, {Resource: "b", Weight: 2}}},
	} {
		c := mustLoad(t, rootHead+"  nodesortpolicy: "+text+"\n")
		assert.DeepEqual(t, c.Partitions[0].NodeSortPolicy, want)
	}
}

func TestLoad_EverythingWrongGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/everything-wrong.yaml")
	assert.NilError(t, err)
	c, problems := Load(text)
	assert.Assert(t, c == nil)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.WithFile("everything-wrong.yaml")+"\n")
	}
	golden.Assert(t, strings.Join(lines, ""), "everything-wrong.golden")
	assert.Assert(t, len(problems.Errors()) > 30 && len(problems.Warnings()) > 5)
	assert.Equal(t, len(problems.Errors())+len(problems.Warnings()), len(problems))
	assert.Assert(t, slices.IsSortedFunc(problems, func(a, b validation.Problem) int { return a.Line - b.Line }))
}

func TestProblem_NamesPositionPathAndHint(t *testing.T) {
	_, problems := Load([]byte(`partitions:
- name: gpu
  queues:
  - name: root
    queues:
    - name: b%d
      submitACL: '*'
      submitacl: '*'
`))
	assert.Equal(t, problems.Error(), `6:13: error [V5] [gpu]root.b%d: queue name "b%d" is not legal `+
		`(hint: 1 to 64 letters, digits or any of _ : # / @ -)
7:7: error [yaml-unknown-key] [gpu]root.b%d: unknown key "submitACL" in a queue (hint: did you mean "submitacl"?)`)
	assert.Equal(t,
		validation.Problem{Line: 2, Col: 3, RuleID: "V1", Severity: validation.Warning, Message: "m"}.WithFile("a.yaml"),
		"a.yaml:2:3: warning [V1] m")
}

func TestLoad_SyntaxErrorPositions(t *testing.T) {
	const look = " (hint: look for the mistake around this line)"
	for _, c := range []struct{ name, text, want string }{
		{"a tab in the indentation", "partitions:\n\t- name: a\n",
			"2:1: error [yaml-syntax] the line is indented with a tab (hint: YAML allows only spaces for indentation)"},
		{"two values", "a: 1\nb: c: d\n",
			"2:1: error [yaml-syntax] mapping values are not allowed in this context"},
		{"a list left open", "a: 1\nb: [1\nc: 2\n",
			"2:1: error [yaml-syntax] did not find expected ',' or ']'" + look},
		{"a list left open on the first line", "b: [1\nc: 2\n",
			"2:1: error [yaml-syntax] did not find expected ',' or ']'" + look},
		{"a tag without a handle", "a: 1\nb:\n  c: !x!y 1\n",
			"3:1: error [yaml-syntax] found undefined tag handle" + look},
		{"a quote that is not closed", "a: 1\nb: \"1\n",
			`2:4: error [yaml-syntax] the text in quotes that begins here has no end (hint: add a ")`},
		{"a control character", "a: 1\nb: \x01\n",
			"2:4: error [yaml-syntax] control characters are not allowed"},
		{"a byte that is not UTF-8", "a: ä\xff\n", "1:5: error [yaml-syntax] invalid leading UTF-8 octet"},
		{"an unknown YAML version", "%YAML 9.9\n---\na: 1\n",
			"1:1: error [yaml-syntax] found incompatible YAML document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Load([]byte(c.text))
			assert.Equal(t, problems.Error(), c.want)
		})
	}
}

func TestChecksum_IgnoresItsOwnLine(t *testing.T) {
	const plain = "partitions: [{queues: [{name: root, submitacl: '*'}]}]\n"
	want := mustLoad(t, plain).Checksum
	assert.Equal(t, want, "28053C2EF88EA6F6A4DCC40281D452506054EB6D335C390C1E111139733F021E")
	digits := strings.Repeat("0F", 32)
	assert.Equal(t, checksum([]byte(plain+"checksum: "+digits)), want)
	assert.Equal(t, checksum([]byte("checksum: "+digits+plain)), want)
	assert.Assert(t, checksum([]byte(plain+"checksum: 00\n")) != want, "too short to be one")
	assert.Assert(t, checksum([]byte(plain+"checksum: "+strings.Repeat("x", 64))) != want, "not hex")
	withComment := "# a checksum: as text\n" + plain
	assert.Equal(t, checksum([]byte(withComment+"checksum: "+digits)), checksum([]byte(withComment)))
	c := mustLoad(t, plain+"checksum: "+digits+"\n")
	assert.Assert(t, c.Checksum != digits)
}

func TestDidYouMean_SuggestsOnlySimilarWords(t *testing.T) {
	for written, want := range map[string]string{
		"submitACL": `did you mean "submitacl"?`, "max_applications": `did you mean "maxapplications"?`,
		"child-template": `did you mean "childtemplate"?`, "queue": `did you mean "queues"?`,
		"nme": `did you mean "name"?`, "x": "", "": "", "weight": "", strings.Repeat("a", 1000): "",
	} {
		assert.Equal(t, validation.DidYouMean(written, queueMapping.names()), want, written)
	}
}
