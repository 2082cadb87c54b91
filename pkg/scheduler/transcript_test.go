package scheduler_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var epoch = time.Unix(1_000_000_000, 0).UTC()

// TestTranscripts runs the files of testdata/transcripts: a command of the resource manager, its arguments,
// and below the line the effects. The accounting is checked after every command. Run with -rewrite after a
// change, then read the diff.
func TestTranscripts(t *testing.T) {
	transcripts := 0
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		transcripts++
		c := &transcriptRun{now: epoch}
		datadriven.RunTest(t, path, c.runCommand)
	})
	assert.Assert(t, transcripts >= 10, "only %d transcripts", transcripts)
}

type transcriptRun struct {
	core       *scheduler.Core
	now        time.Time
	showEvents bool // internal effects are shown, but for waiting states
	showStates bool // waiting states are shown
	questions  *questionedRM
}

func (c *transcriptRun) runCommand(t *testing.T, d *datadriven.TestData) string {
	c.now = c.now.Add(time.Second)
	switch d.Cmd {
	case "config":
		return c.config(t, d)
	case "after":
		step, err := time.ParseDuration(d.CmdArgs[0].Key)
		assert.NilError(t, err)
		c.now = c.now.Add(step)
		return c.applyCommand(t, scheduler.Wake{})
	case "schedule":
		budget := 100
		d.MaybeScanArgs(t, "budget", &budget)
		effects, more := c.core.Schedule(c.now, budget)
		assert.NilError(t, c.core.Check())
		lines := c.questions.take() + c.transcript(effects)
		if more {
			lines += "and more\n"
		}
		return lines
	case "accepts":
		c.questions.accepted = strings.Fields(text(d, "nodes"))
		return ""
	case "explain":
		explained := c.core.Explain
		if d.HasArg("victims") {
			explained = c.core.ExplainWithVictims
		}
		e := explained(objects.AllocationKey(text(d, "key")), c.now)
		lines := e.String() + "\n"
		for _, b := range e.Verdict.BackOffs {
			lines += b.Message + "\n"
		}
		for _, g := range explain.Closed(e.Gates) {
			lines += "  closed: " + g.String() + "\n"
			for _, change := range g.Changes {
				lines += "    " + change.String() + "\n"
			}
		}
		if d.HasArg("entitlements") {
			lines += showEntitlements(e)
		}
		if d.HasArg("victims") {
			lines += c.searches(e)
		}
		return lines
	case "quota":
		q, ok := c.core.Partition().Queue(objects.QueuePath(text(d, "queue")))
		assert.Assert(t, ok, "%s: there is no such queue", d.Pos)
		return fmt.Sprintf("max %v, guaranteed %v, applications %d\n", q.Max(), q.Guaranteed(), q.MaxApplications())
	case "ended-applications":
		s := c.core.Snapshot(c.now)
		return c.showEnded(s.Completed) + c.showEnded(s.Rejected)
	case "budgets":
		return showBudgets(c.core.Budgets())
	case "queues":
		return showQueues(c.core.Snapshot(c.now).Root)
	case "above-max":
		return showAboveMax(c.core.Snapshot(c.now).Root)
	case "quotas":
		return showQuotas(c.core.Snapshot(c.now).Root)
	case "events":
		c.showEvents = true
		return ""
	case "waiting-states":
		c.showStates = true
		return ""
	case "cool-downs":
		var b strings.Builder
		for _, p := range c.core.Preemptions().CoolDowns {
			fmt.Fprintf(&b, "%s and %s from %s to %s\n", p.A, p.B, p.Since.Sub(epoch), p.Until.Sub(epoch))
		}
		return b.String()
	case "deadline":
		at, ok := c.core.NextDeadline()
		if !ok {
			return "none\n"
		}
		return fmt.Sprintf("at %s, and it is %s\n", at.Sub(epoch), c.now.Sub(epoch))
	case "reservations":
		return showReservations(c.core.Snapshot(c.now))
	case "preempting":
		return showPreempting(c.core.Snapshot(c.now).Root)
	}
	return c.applyCommand(t, command(t, d, c.now))
}

// rejectsPrefix is a resource manager that refuses every node to asks whose keys have the prefix.
type rejectsPrefix string

func (r rejectsPrefix) Fits(ask objects.AllocationKey, _ objects.NodeID) bool {
	return !strings.HasPrefix(string(ask), string(r))
}

// questionedRM is a resource manager that accepts some nodes, and shows what it is asked.
type questionedRM struct {
	accepted []string
	asked    []string // the questions since take
}

func (r *questionedRM) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return r.FitsEach(ask, []objects.NodeID{node})[0]
}

func (r *questionedRM) FitsEach(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
	line := "asked about " + string(ask) + " on"
	for _, n := range nodes {
		line += " " + string(n)
		fits = append(fits, slices.Contains(r.accepted, string(n)))
	}
	r.asked = append(r.asked, line)
	return fits
}

func (r *questionedRM) take() (lines string) {
	if r != nil && len(r.asked) > 0 {
		lines, r.asked = strings.Join(r.asked, "\n")+"\n", nil
	}
	return lines
}

func (c *transcriptRun) config(t *testing.T, d *datadriven.TestData) string {
	conf, problems := queuesyaml.Load([]byte(d.Input))
	if conf == nil {
		return problems.Error() + "\n"
	}
	if c.core == nil {
		var rm *objects.Oracle
		if prefix := text(d, "refuses"); prefix != "" {
			rm = &objects.Oracle{Fits: rejectsPrefix(prefix).Fits}
		}
		if text(d, "shows") == "questions" {
			c.questions = &questionedRM{}
			rm = &objects.Oracle{Fits: c.questions.Fits, FitsEach: c.questions.FitsEach}
		}
		c.core = scheduler.New(conf.Partitions[0], rm)
		return ""
	}
	return c.applyCommand(t, scheduler.UseConfig{Partition: conf.Partitions[0]})
}

// showEntitlements shows by which reasons an explained ask may preempt.
func showEntitlements(e *scheduler.Explanation) (lines string) {
	for _, r := range e.Entitlements {
		lines += fmt.Sprintf("  %v: entitled %t, %s", r.Reason, r.Entitled, r.NotEntitled)
		if r.Queue != "" {
			lines += " " + string(r.Queue)
		}
		for _, o := range r.Over {
			lines += fmt.Sprintf("; %s: guaranteed %d, used %d, requested %d", o.Resource, o.Guaranteed, o.Used, o.Requested)
		}
		if len(r.Lacking) > 0 {
			lines += fmt.Sprintf("; lacking %v", r.Lacking)
		}
		if r.Side != "" {
			lines += ", side " + r.Side
		}
		for _, s := range r.Shares {
			lines += fmt.Sprintf("; %s: share %d, held %d", s.Resource, s.Share, s.Held)
		}
		lines += "\n"
	}
	return lines
}

// searches shows the searches for victims of an explanation.
func (c *transcriptRun) searches(e *scheduler.Explanation) (lines string) {
	if wait := e.SearchedAt.Time().Sub(e.At.Time()); wait > 0 && !e.SearchedAt.IsZero() {
		lines += fmt.Sprintf("  entitled in %v; then, as things are:\n", wait)
	}
	for _, s := range e.Searches {
		lines += fmt.Sprintf("  by %v, %d nodes, %d infeasible:\n", s.Reason, s.TotalNodes, s.Infeasible)
		for _, why := range slices.Sorted(maps.Keys(s.NoPlanReasons)) {
			lines += fmt.Sprintf("    %v: nodes %d\n", why, s.NoPlanReasons[why])
		}
		if !s.YoungUntil.IsZero() {
			lines += fmt.Sprintf("    the first minimum run time ends at %s\n", s.YoungUntil.Time().Sub(epoch))
		}
		for _, q := range s.BlockingQuotas {
			lines += fmt.Sprintf("    %s: shortfall %v, nodes %d\n", q.Verdict, q.Shortfall, q.Nodes)
		}
		for _, p := range s.BestPlans {
			lines += fmt.Sprintf("    plan on %s:", p.Node)
			for _, v := range p.Victims {
				lines += " " + string(v.Key)
			}
			lines += "\n"
		}
	}
	return lines
}

// showBudgets shows budgets and their counts.
func showBudgets(views []scheduler.BudgetView) string {
	var b strings.Builder
	for _, v := range views {
		fmt.Fprintf(&b, "%s for %s, %s: %d match, %d preempting, %d more allowed\n",
			v.Budget.ID(), v.Budget.Selector, v.Budget.Allowance, v.Selected, v.Preempting, v.Allowed)
	}
	return b.String()
}

// showEnded shows ended applications, with times from the beginning of the transcript.
func (c *transcriptRun) showEnded(ended persistent.List[lifecycle.Ended]) string {
	var b strings.Builder
	for e := range ended.All() {
		fmt.Fprintf(&b, "%s in %s, submitted at %s:", e.ID, e.Queue, e.Submitted.Sub(epoch))
		for _, l := range e.Log {
			fmt.Fprintf(&b, " %s at %s,", l.State, l.At().Sub(epoch))
		}
		fmt.Fprintf(&b, " finished at %s", e.Finished.Sub(epoch))
		if e.Message() != "" {
			fmt.Fprintf(&b, ": %s", e.Message())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (c *transcriptRun) applyCommand(t *testing.T, cmd scheduler.Command) string {
	effects := c.core.Step(c.now, cmd)
	assert.NilError(t, c.core.Check())
	return c.transcript(effects)
}

func command(t *testing.T, d *datadriven.TestData, now time.Time) scheduler.Command {
	node, app := objects.NodeID(text(d, "node")), objects.AppID(text(d, "app"))
	key := objects.AllocationKey(text(d, "key"))
	switch d.Cmd {
	case "add-node":
		return scheduler.AddNode{Node: node, Total: quantities(t, d), Schedulable: !d.HasArg("draining"),
			Attributes: inputLines(d)}
	case "attributes":
		return scheduler.SetAttributes{Node: node, Attributes: inputLines(d)}
	case "capacity":
		return scheduler.SetCapacity{Node: node, Total: quantities(t, d)}
	case "drain":
		return scheduler.SetSchedulable{Node: node, Schedulable: false}
	case "undrain":
		return scheduler.SetSchedulable{Node: node, Schedulable: true}
	case "operate":
		for action := range scheduler.EachOperatorAction {
			i := action.Info()
			if i.Verb == text(d, "do") && (i.On == scheduler.OnNode) == (node != "") {
				return scheduler.Operate{Action: action, App: app, Queue: objects.QueuePath(text(d, "queue")), Node: node,
					By: text(d, "by")}
			}
		}
		t.Fatalf("%s: unknown action", d.Pos)
	case "remove-node":
		return scheduler.RemoveNode{Node: node}
	case "add-app":
		tags := map[string]string{"namespace": text(d, "namespace")}
		for tag, of := range map[string]string{"quota": configs.TagMax, "guaranteed": configs.TagGuaranteed,
			"maxapps": configs.TagMaxApplications} {
			if d.HasArg(tag) {
				tags[of] = text(d, tag)
			}
		}
		if d.HasArg("force") {
			tags["application.create.force"] = "true"
		}
		return scheduler.AddApplication{
			App: app, User: user(d), Queue: text(d, "queue"), Tags: tags, Refused: text(d, "unresolved"), Gang: gang(t, d),
		}
	case "remove-app":
		return scheduler.RemoveApplication{App: app}
	case "ask":
		if class := text(d, "class"); class != "" {
			m := scheduler.SubmitAskWithClass{Ask: ask(t, d, now), Class: class, RejectReason: text(d, "refuse")}
			if d.HasArg("named") {
				m.NamedClass = class
			}
			if d.HasArg("users") {
				acl, _, err := security.ParseACL(text(d, "users"))
				assert.NilError(t, err)
				m.AllowedUsers = &acl
			}
			return m
		}
		return scheduler.SubmitAsk{Ask: ask(t, d, now)}
	case "report":
		a := ask(t, d, now)
		a.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: a.TaskGroup(), Tags: a.Tags()})
		return scheduler.ReportAllocation{Ask: a, Node: node, Class: text(d, "class")}
	case "release":
		scopes := map[string]scheduler.ReleaseScope{"": scheduler.AsksAndAllocations, "asks": scheduler.OnlyAsks,
			"allocations": scheduler.OnlyAllocations}
		scope, ok := scopes[text(d, "only")]
		assert.Assert(t, ok, d.Pos)
		return scheduler.Release{App: app, Key: key, Type: scheduler.Termination(number(t, d, "type")), Scope: scope,
			NodeRefused: d.HasArg("node-refused"), Message: text(d, "node-refused")}
	case "foreign":
		return scheduler.ReportForeign{Foreign: objects.Foreign{Key: key, Node: node, Amounts: quantities(t, d),
			Tags: inputLines(d)}}
	case "release-foreign":
		return scheduler.ReleaseForeign{Key: key}
	case "remove-partition":
		return scheduler.DrainPartition{}
	case "reset-partition":
		return scheduler.ResetPartition{}
	case "restore-starts": // each line a key, and how many seconds ago it began
		var starts []runtimes.Start
		for key, ago := range inputLines(d) {
			age, err := time.ParseDuration(ago)
			assert.NilError(t, err)
			starts = append(starts, runtimes.Start{Key: objects.AllocationKey(key), At: objects.TimestampOf(now.Add(-age))})
		}
		return scheduler.RestoreStarts{Starts: starts}
	case "not-listening":
		return scheduler.SetListening{}
	case "listening":
		return scheduler.SetListening{Listening: true}
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return nil
}

// gang is what an application declares about its gang: gang is the vcores of all placeholders together.
func gang(t *testing.T, d *datadriven.TestData) gangs.Spec {
	s := gangs.Spec{Style: gangs.StyleOf(text(d, "style"))}
	if d.HasArg("gang") {
		s.Requested = resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(number(t, d, "gang"))})
	}
	if arg, ok := d.Arg("virtual"); ok { // task groups and how many members they need: g:2
		for _, group := range arg.Vals {
			name, members, _ := strings.Cut(group, ":")
			n, err := strconv.Atoi(members)
			assert.NilError(t, err)
			s.Virtual = append(s.Virtual, gangs.VirtualGroup{Name: name, MinMember: n})
		}
	}
	if d.Input != "" { // the JSON of YuniKorn's annotation
		groups, err := gangs.ReadVirtual(map[string]string{gangs.VirtualPlaceholdersTag: "true",
			gangs.TaskGroupsTag: d.Input})
		assert.NilError(t, err)
		s.Virtual = groups
	}
	if d.HasArg("timeout") {
		timeout, err := time.ParseDuration(text(d, "timeout"))
		assert.NilError(t, err)
		s.Timeout = timeout
	}
	return s
}

// inputNames are short names of tags and attributes.
var inputNames = map[string]string{
	"selector": constraints.SelectorTag, "affinity": constraints.AffinityTag, "tolerations": constraints.TolerationsTag,
	"taints":      constraints.TaintsAttribute,
	"podAffinity": affinity.PodAffinityTag, "podAntiAffinity": affinity.PodAntiAffinityTag, "spread": affinity.SpreadTag,
	"ports": affinity.PortsTag, "max-run-time": runtimes.BoundTag, "start-time": runtimes.StartTag,
}

// inputLines are the lines of the input, each a name and a value; nil: there are none.
func inputLines(d *datadriven.TestData) (values map[string]string) {
	for line := range strings.Lines(d.Input) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if values == nil {
			values = map[string]string{}
		}
		values[cmp.Or(inputNames[name], name)] = value
	}
	return values
}

// user is ann, unless another user is named.
func user(d *datadriven.TestData) security.User {
	u := security.User{Name: text(d, "user")}
	if !d.HasArg("user") {
		u.Name = "ann"
	}
	if groups, ok := d.Arg("groups"); ok {
		u.Groups = groups.Vals
	}
	return u
}

func ask(t *testing.T, d *datadriven.TestData, now time.Time) *objects.Ask {
	a := &objects.Ask{
		Key: objects.AllocationKey(text(d, "key")), App: objects.AppID(text(d, "app")), Amounts: quantities(t, d),
		Priority:    int32(number(t, d, "priority")),
		Placeholder: d.HasArg("placeholder"), Originator: d.HasArg("originator"),
	}
	details := objects.AskDetails{RequiredNode: objects.NodeID(text(d, "node")), TaskGroup: text(d, "group")}
	if d.HasArg("agrees") { // it may be a victim
		a.Policy = objects.PolicySent | objects.PolicyAllowPreemptSelf
	}
	if d.HasArg("preempts") {
		a.Policy |= objects.PolicySent | objects.PolicyAllowPreemptOther
	}
	if label := text(d, "label"); label != "" {
		details.Tags = map[string]string{"kubernetes.io/label/app": label,
			"kubernetes.io/meta/namespace": text(d, "namespace")}
	}
	for name, value := range inputLines(d) {
		if details.Tags == nil {
			details.Tags = map[string]string{}
		}
		details.Tags[name] = value
	}
	a.Details = objects.NewAskDetails(details)
	if d.HasArg("age") {
		a.Created = objects.TimestampOf(now.Add(-time.Duration(number(t, d, "age")) * time.Second))
	}
	return a
}

// quantities reads the arguments that are resource names.
func quantities(t *testing.T, d *datadriven.TestData) resources.Amounts {
	m := map[string]resources.Quantity{}
	for _, name := range []string{"vcore", "memory", "gpu"} {
		if d.HasArg(name) {
			m[name] = resources.Quantity(number(t, d, name))
		}
	}
	for _, arg := range d.CmdArgs {
		if arg.Key == "also" { // one unit of each
			for _, name := range arg.Vals {
				m[name] = 1
			}
		}
	}
	return resources.FromMap(m)
}

func number(t *testing.T, d *datadriven.TestData, name string) int64 {
	if !d.HasArg(name) {
		return 0
	}
	n, err := strconv.ParseInt(text(d, name), 10, 64)
	assert.NilError(t, err, "%s: %s", d.Pos, name)
	return n
}

func text(d *datadriven.TestData, name string) string {
	if arg, ok := d.Arg(name); ok && len(arg.Vals) > 0 {
		return arg.Vals[0]
	}
	return ""
}

func (c *transcriptRun) transcript(effects []scheduler.Effect) string {
	return transcript(slices.DeleteFunc(slices.Clone(effects), func(e scheduler.Effect) bool {
		switch e.(type) {
		case scheduler.AsksWait:
			return !c.showStates
		case scheduler.Refused:
			return false
		}
		return scheduler.Internal(e) && !c.showEvents
	}))
}

func transcript(effects []scheduler.Effect) string {
	var b strings.Builder
	for _, e := range effects {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// showQueues shows a queue and the queues below it, one in each line.
func showQueues(q *scheduler.QueueView) string {
	line := fmt.Sprintf("%s priority=%v allocated=%v pending=%v", q.Path, q.Priority, q.Allocated, q.Pending)
	if q.Draining {
		line += " draining"
	}
	if !q.Managed {
		line += " dynamic"
	}
	for child := range q.Children.All() {
		line += "\n" + strings.TrimSuffix(showQueues(child), "\n")
	}
	return line + "\n"
}

// showAboveMax shows the queues from q down that are above an enforced max, with times from the beginning
// of the transcript.
func showAboveMax(q *scheduler.QueueView) (lines string) {
	if a := q.AboveMax; a != nil {
		lines = fmt.Sprintf("%s is above its max by %v since %s, due at %s\n", q.Path, a.Excess, a.Since.Sub(epoch),
			a.Due.Sub(epoch))
	}
	for child := range q.Children.All() {
		lines += showAboveMax(child)
	}
	return lines
}

// showQuotas shows the usage of the class quotas of a queue and of the queues below it, one in each line.
func showQuotas(q *scheduler.QueueView) string {
	var b strings.Builder
	for _, x := range q.ClassQuotas {
		var used []string
		for u := range x.Used.All() {
			holder := ""
			if u.UserOrGroup != (quota.UserOrGroup{}) {
				holder = u.UserOrGroup.String() + " "
			}
			used = append(used, fmt.Sprintf("%s%v, %d pods", holder, u.Amounts, u.Pods))
		}
		if len(used) == 0 {
			used = []string{"unused"}
		}
		fmt.Fprintf(&b, "%s %s: %s\n", q.Path, x.Name, strings.Join(used, "; "))
	}
	for child := range q.Children.All() {
		b.WriteString(showQuotas(child))
	}
	return b.String()
}

// showPreempting shows the preempting allocations and the nominated asks, with times.
func showPreempting(q *scheduler.QueueView) (lines string) {
	for a := range q.Applications.All() {
		for w := range a.Allocations.All() {
			switch {
			case w.Overdue:
				lines += fmt.Sprintf("%s is being preempted on %s at %s, overdue\n", w.Ask.Key, w.Node, w.PreemptedAt.Sub(epoch))
			case w.Preempting:
				lines += fmt.Sprintf("%s is being preempted on %s at %s\n", w.Ask.Key, w.Node, w.PreemptedAt.Sub(epoch))
			case w.Nominated != "":
				lines += fmt.Sprintf("%s waits for %s since %s\n", w.Ask.Key, w.Nominated, w.NominatedAt.Sub(epoch))
			}
		}
	}
	for child := range q.Children.All() {
		lines += showPreempting(child)
	}
	return lines
}
