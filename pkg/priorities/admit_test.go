package priorities

import (
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestAdmit_Cases(t *testing.T) {
	plain := must(New(Class{Name: "high", Value: 1_000_000}, Class{Name: "quiet", Value: 50, Policy: Never},
		Class{Name: "zero", Value: 0}))
	normal := must(plain.With(Class{Name: "normal", Value: 7, GlobalDefault: true}))
	quiet := must(plain.With(Class{Name: "normal", Value: 7, GlobalDefault: true, Policy: Never}))
	const ( // the policy that an ask sends
		nothing = iota
		never
		preempts
	)
	const ( // for which value of strict a case holds
		any = iota
		lenient
		strict
	)
	for _, c := range []struct {
		name       string
		r          Registry
		class      string
		priority   int32
		policy     int
		strictness int
		want       int32
		of         string // the class of the admitted ask
		preempts   bool
		refused    Reason
		text       string
	}{
		{name: "S0-10, S3-20: the number of the class", r: plain, class: "high", want: 1_000_000, of: "high", preempts: true},
		{name: "S2-7: a class without a policy preempts", r: plain, class: "high", policy: preempts, want: 1_000_000,
			of: "high", preempts: true},
		{name: "S2-30: a class that never preempts", r: plain, class: "quiet", want: 50, of: "quiet"},
		{name: "S2-30: a class that never preempts, and an ask that sends the same", r: plain, class: "quiet", policy: never,
			want: 50, of: "quiet"},
		{name: "S0-11: the same number", r: plain, class: "high", priority: 1_000_000, want: 1_000_000, of: "high",
			preempts: true},
		{name: "S0-11, S4-16: another number", r: plain, class: "high", priority: 999, refused: PriorityMismatch,
			text: `priority-mismatch: priority class "high": the ask sends the priority 999, but the class has 1000000`},
		{name: "S0-11: another number than zero", r: plain, class: "zero", priority: 1, refused: PriorityMismatch},
		{name: "S0-12, S3-21: an unknown class", r: plain, class: "none", refused: UnknownClass,
			text: `unknown-class: priority class "none": the ask names it, but there is no such class`},
		{name: "S0-12: an unknown class with a number", r: normal, class: "none", priority: 7, refused: UnknownClass},
		{name: "PRI-40: a policy that the class forbids", r: plain, class: "quiet", policy: preempts, refused: PolicyMismatch,
			text: `policy-mismatch: priority class "quiet": the ask sends the policy PreemptLowerPriority, but the class has ` +
				`Never`},
		{name: "PRI-40: another policy than that of the class", r: plain, class: "high", policy: never,
			refused: PolicyMismatch},
		{name: "S0-13, S0-18: neither a class nor a default: zero", r: plain, want: 0},
		{name: "S0-11: a number without a class, not strict", r: plain, priority: 5, strictness: lenient, want: 5},
		{name: "S0-11: a number without a class, strict", r: plain, priority: 5, strictness: strict,
			refused: PriorityMismatch,
			text:    `priority-mismatch: the ask sends the priority 5, but names no class, and there is no default`},
		{name: "S0-13, S2-5, S3-15: without a class: the default", r: normal, want: 7, of: "normal", preempts: true},
		{name: "PRI-41: the number of the default without a class", r: normal, priority: 7, want: 7, of: "normal",
			preempts: true},
		{name: "PRI-43: another number without a class, strict", r: normal, priority: 5, strictness: strict,
			refused: PriorityMismatch},
		{name: "PRI-41: another number without a class, not strict", r: normal, priority: 5, strictness: lenient, want: 5},
		{name: "PRI-41: then the policy that it sends counts", r: quiet, priority: 5, policy: preempts, strictness: lenient,
			want: 5},
		{name: "PRI-42: the default never preempts, whatever is sent", r: quiet, policy: preempts, strictness: lenient,
			want: 7, of: "normal"},
		{name: "PRI-42: an ask that never preempts, whatever the default", r: normal, policy: never, strictness: lenient,
			want: 7, of: "normal"},
		{name: "PRI-43: another policy than that of the default, strict", r: quiet, policy: preempts, strictness: strict,
			refused: PolicyMismatch},
		{name: "PRI-37: a named class counts, not the default", r: normal, class: "quiet", want: 50, of: "quiet"},
		{name: "S2-31: a system class", r: Registry{}, class: "system-node-critical", want: NodeCritical,
			of: "system-node-critical", preempts: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range []bool{false, true} {
				if c.strictness == lenient && s || c.strictness == strict && !s {
					continue
				}
				q := Request{Class: c.class, Priority: c.priority, HasPolicy: c.policy != nothing, Preempts: c.policy == preempts}
				g, p := Admit(c.r, q, s)
				if c.refused != "" {
					assert.Assert(t, p != nil)
					assert.Equal(t, p.Reason, c.refused)
					assert.Assert(t, c.text == "" || p.Error() == c.text, p.Error())
					continue
				}
				assert.Assert(t, p == nil, "%v", p)
				assert.Equal(t, g.Priority, c.want)
				assert.Equal(t, g.Preempts, c.preempts)
				name := ""
				if g.Class != nil {
					name = g.Class.Name
				}
				assert.Equal(t, name, c.of)
			}
		})
	}
}

func TestAdmitRecovered_Cases(t *testing.T) {
	r := must(New(Class{Name: "a", Value: 10}, Class{Name: "normal", Value: 7, GlobalDefault: true, Policy: Never}))
	for _, c := range []struct {
		name string
		q    Request
		want int32
		of   bool
	}{
		{"S3-17, S3-18: neither a number nor a class: zero", Request{}, 0, false},
		{"S0-2, S0-30: another number than that of the class counts", Request{Class: "a", Priority: 9}, 9, false},
		{"S0-10: a class without a number", Request{Class: "a"}, 10, true},
		{"S0-28, S3-19: a deleted class, with a number", Request{Class: "gone", Priority: 9}, 9, false},
		{"S0-28, S3-19: a deleted class, without a number", Request{Class: "gone"}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := AdmitRecovered(r, c.q)
			assert.Equal(t, g.Priority, c.want)
			assert.Equal(t, g.Class != nil, c.of)
		})
	}
	assert.Assert(t, !AdmitRecovered(r, Request{Class: "a", HasPolicy: true}).Preempts, "the policy that it sends counts")
}

// For any ask: a named class decides, a rejection has a reason, strict admits no more than not strict, and an ask
// or a class that never preempts does not.
func TestAdmit_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Registry
		for _, c := range rapid.SliceOfN(randomClass, 0, 6).Draw(t, "classes") {
			if next, err := r.With(c); err == nil {
				r = next
			}
		}
		q := Request{
			Class:     rapid.SampledFrom([]string{"", "", "a", "b", "system-node-critical"}).Draw(t, "class"),
			Priority:  rapid.SampledFrom([]int32{-1 << 31, 0, 0, 1, UserMaximum, NodeCritical}).Draw(t, "priority"),
			HasPolicy: rapid.Bool().Draw(t, "policy"), Preempts: rapid.Bool().Draw(t, "preempts"),
		}
		lenient, lenientProblem := Admit(r, q, false)
		strict, strictProblem := Admit(r, q, true)
		c, known := r.Get(key(q.Class))
		assert.Assert(t, q.Class == "" || known || lenientProblem.Reason == UnknownClass)
		if strictProblem == nil {
			assert.Assert(t, lenientProblem == nil && lenient == strict,
				"strict admits what is rejected without strict, or admits it otherwise")
		}
		if lenientProblem != nil {
			assert.Assert(t, lenientProblem.Reason == UnknownClass || lenientProblem.Reason == PriorityMismatch ||
				lenientProblem.Reason == PolicyMismatch)
			return
		}
		assert.Assert(t, !known || lenient.Class == c && lenient.Priority == c.Value)
		assert.Assert(t, q.Priority == 0 || lenient.Priority == q.Priority, "an admitted ask has another number than it sent")
		if lenient.Class != nil {
			assert.Assert(t, !lenient.Preempts || lenient.Class.Policy != Never && (!q.HasPolicy || q.Preempts))
		}
	})
}

func TestAdmit_DoesNotAllocate(t *testing.T) {
	r := must(New(Class{Name: "a", Value: 10, Policy: Never}, Class{Name: "normal", Value: 7, GlobalDefault: true}))
	for _, q := range []Request{{}, {Priority: 5}, {Class: "a"}, {Class: "a", Priority: 10, HasPolicy: true}} {
		assert.Equal(t, testing.AllocsPerRun(100, func() {
			if _, p := Admit(r, q, false); p != nil {
				panic(p)
			}
		}), 0.0)
	}
}
