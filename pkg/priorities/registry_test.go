package priorities

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// reasons returns the reasons of all problems that an error joins.
func reasons(err error) []Reason {
	var out []Reason
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			out = append(out, reasons(e)...)
		}
		return out
	}
	if p := new(registry.Problem); errors.As(err, &p) {
		return []Reason{p.Reason}
	}
	return nil
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	if want == "" {
		assert.NilError(t, err)
		return
	}
	assert.DeepEqual(t, reasons(err), []Reason{want})
}

func must(r Registry, err error) Registry {
	if err != nil {
		panic(err)
	}
	return r
}

func key(name string) registry.Key { return registry.Key{Name: name} }

func namesOf(r Registry) []string {
	var out []string
	for _, c := range r.All() {
		out = append(out, c.Name)
	}
	return out
}

func TestNew_ValidatesClass(t *testing.T) {
	noUser := security.AllowList(nil, nil)
	for _, c := range []struct {
		name  string
		class Class
		want  Reason
	}{
		{"S0-16: the highest value of a user class", Class{Name: "a", Value: 1_000_000_000}, ""},
		{"S0-16: a reserved value", Class{Name: "a", Value: 1_000_000_001}, AboveUserMaximum},
		{"S2-4: the lowest value", Class{Name: "a", Value: math.MinInt32}, ""},
		{"S0-22, S2-6: a description is any text", Class{Name: "a", Description: "für alle\n☂\t"}, ""},
		{"S2-30: the sample class of the Kubernetes documentation",
			Class{Name: "high-priority-nonpreempting", Value: 1_000_000, Policy: Never}, ""},
		{"S0-23, S4-12: a reserved name", Class{Name: "system-mine", Value: 1}, ReservedName},
		{"S0-23: a system class with another value", Class{Name: "system-node-critical", Value: 2_000_000_100}, ReservedName},
		{"S0-23: a system class as the default",
			Class{Name: "system-node-critical", Value: NodeCritical, GlobalDefault: true}, ReservedName},
		{"S0-23: a system class that never preempts", Class{Name: "system-node-critical", Value: NodeCritical, Policy: Never},
			ReservedName},
		{"S0-23: a system class with an access list",
			Class{Name: "system-node-critical", Value: NodeCritical, SubmitACL: &noUser}, ""},
		{"S0-23: the name system without the hyphen", Class{Name: "system", Value: 1}, ""},
		{"PRI-30: a policy that does not exist", Class{Name: "a", Policy: 2}, InvalidPolicy},
		{"PRI-27: no name", Class{}, InvalidName},
		{"PRI-27: capitals", Class{Name: "High"}, InvalidName},
		{"PRI-27: a name that ends in a hyphen", Class{Name: "high-"}, InvalidName},
		{"PRI-27: an empty label", Class{Name: "a..b"}, InvalidName},
		{"PRI-27: letters outside ASCII", Class{Name: "größe"}, InvalidName},
		{"PRI-27: a line break after the name", Class{Name: "a\n"}, InvalidName},
		{"PRI-27: a subdomain of several labels", Class{Name: "0.a-b.c9"}, ""},
		{"PRI-27: the longest name", Class{Name: strings.Repeat("a", 253)}, ""},
		{"PRI-27: a name that is too long", Class{Name: strings.Repeat("a", 254)}, InvalidName},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := New(c.class)
			wantReason(t, err, c.want)
			if c.want != "" {
				assert.ErrorContains(t, err, string(c.want))
				return
			}
			got, ok := r.Get(key(c.class.Name))
			assert.Assert(t, ok && got.Equal(&c.class))
		})
	}
}

func TestRegistry_ZeroValueHasSystemClasses_S2_31_S0_17(t *testing.T) {
	assert.DeepEqual(t, namesOf(Registry{}), []string{"system-cluster-critical", "system-node-critical"})
	a, _ := Registry{}.Get(key("system-cluster-critical"))
	b, _ := Registry{}.Get(key("system-node-critical"))
	assert.Equal(t, a.Value, int32(2_000_000_000))
	assert.Equal(t, b.Value, int32(2_000_001_000))
	assert.Assert(t, !a.GlobalDefault && !b.GlobalDefault && (Registry{}).Default() == nil)
	assert.Equal(t, a.Policy, PreemptLowerPriority)
	assert.Assert(t, must(New()).Equal(Registry{}))
}

func TestRegistry_Update(t *testing.T) {
	ten := Class{Name: "ten", Value: 10, GlobalDefault: true}
	five := Class{Name: "five", Value: 5, Policy: Never}
	r := must(New(ten, five))
	with := func(c Class, change func(*Class)) Class {
		change(&c)
		return c
	}
	for _, c := range []struct {
		name  string
		class Class
		want  Reason
	}{
		{"S0-26: another value", with(ten, func(c *Class) { c.Value = 11 }), ValueImmutable},
		{"S0-26: another policy", with(ten, func(c *Class) { c.Policy = Never }), PolicyImmutable},
		{"S0-26: another name is another class", with(ten, func(c *Class) { c.Name = "eleven" }), UnknownClass},
		{"S0-27: another description", with(ten, func(c *Class) { c.Description = "new" }), ""},
		{"S0-27: no default any more", with(ten, func(c *Class) { c.GlobalDefault = false }), ""},
		{"S0-19: a second default", with(five, func(c *Class) { c.GlobalDefault = true }), SecondGlobalDefault},
		{"S0-27: no change", ten, ""},
		{"S0-25: a system class with an access list", Class{Name: "system-node-critical", Value: NodeCritical,
			SubmitACL: acl(security.AllowList([]string{"ann"}, nil))}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, err := r.Update(c.class)
			wantReason(t, err, c.want)
			if c.want == "" {
				got, _ := next.Get(key(c.class.Name))
				assert.Assert(t, got.Equal(&c.class))
			}
			assert.Assert(t, r.Equal(must(New(five, ten))), "Update changed its receiver")
		})
	}
}

func acl(a security.ACL) *security.ACL { return &a }

func TestRegistry_AtMostOneDefault(t *testing.T) {
	a, b := Class{Name: "a", Value: 2, GlobalDefault: true}, Class{Name: "b", Value: 1, GlobalDefault: true}
	r := must(New(a))
	assert.Equal(t, r.Default().Name, "a")
	_, err := r.With(b)
	wantReason(t, err, SecondGlobalDefault)
	assert.Error(t, err,
		`second-global-default: priority class "b": "a" is the default already, and there can be only one`)
	_, err = New(a, b)
	wantReason(t, err, SecondGlobalDefault)
	assert.ErrorContains(t, err, `"a"`)
	r = must(must(r.Without(key("a"))).With(b))
	assert.Equal(t, r.Default().Name, "b", "S0-19: another class may be the default once there is none")
}

func TestRegistry_WithAndWithout(t *testing.T) {
	r := must(Registry{}.With(Class{Name: "a", Value: 10}))
	_, err := r.With(Class{Name: "a", Value: 99})
	wantReason(t, err, AlreadyExists) // S2-2
	r = must(must(r.Without(key("a"))).With(Class{Name: "a", Value: 99}))
	a, _ := r.Get(key("a"))
	assert.Equal(t, a.Value, int32(99), "S0-29")
	_, err = r.Without(key("b"))
	wantReason(t, err, UnknownClass)
	_, err = r.Without(key("system-node-critical"))
	wantReason(t, err, ReservedName)
	_, err = r.With(Class{Name: "system-node-critical", Value: NodeCritical})
	wantReason(t, err, AlreadyExists)
	_, err = r.With(Class{Name: "system-node-critical", Value: 5})
	wantReason(t, err, ReservedName)
}

func TestRegistry_ThousandClasses_S0_15(t *testing.T) {
	var r Registry
	for i := range 1000 {
		r = must(r.With(Class{Name: fmt.Sprint("class-", i), Value: int32(i)}))
	}
	for i := range 1000 {
		c, ok := r.Get(key(fmt.Sprint("class-", i)))
		assert.Assert(t, ok && c.Value == int32(i))
	}
	assert.Equal(t, len(r.All()), 1002)
}

func TestClass_AllowedUsers_S0_25(t *testing.T) {
	ann := security.User{Name: "ann", Groups: []string{"dev"}}
	list := func(users, groups []string) *security.ACL { return acl(security.AllowList(users, groups)) }
	system := Class{Name: "system-node-critical", Value: NodeCritical}
	for _, c := range []struct {
		name   string
		class  Class
		submit *security.ACL
		want   bool
	}{
		{"system class without a list", system, nil, false},
		{"system class, the list names the user", system, list([]string{"ann"}, nil), true},
		{"system class, the list names a group", system, list(nil, []string{"dev"}), true},
		{"system class, the list names another user", system, list([]string{"bob"}, nil), false},
		{"user class without a list", Class{Name: "a"}, nil, true},
		{"user class, the list names another user", Class{Name: "a"}, list([]string{"bob"}, nil), false},
		{"user class with an empty list", Class{Name: "a"}, list(nil, nil), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.class.SubmitACL = c.submit
			allowed := c.class.AllowedUsers()
			assert.Equal(t, allowed == nil || allowed.Allows(ann), c.want)
		})
	}
}

func TestNew_ReportsAllProblems(t *testing.T) {
	_, err := New(Class{Name: "A", Value: 2_000_000_001, Policy: 7}, Class{Name: "b"}, Class{Name: "b"})
	assert.DeepEqual(t, reasons(err), []Reason{InvalidName, InvalidPolicy, AboveUserMaximum, AlreadyExists})
}

func TestParsePolicy_Names(t *testing.T) {
	for text, want := range map[string]Policy{"": PreemptLowerPriority, "PreemptLowerPriority": PreemptLowerPriority,
		"Never": Never} {
		got, ok := ParsePolicy(text)
		assert.Assert(t, ok && got == want, "S2-7: %s", text)
	}
	for _, text := range []string{"never", "Always", " Never"} {
		_, ok := ParsePolicy(text)
		assert.Assert(t, !ok, text)
	}
}
