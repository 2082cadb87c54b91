package configs

import (
	"reflect"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// setOtherValue sets v to a value that it does not have.
func setOtherValue(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *resources.Limit:
		*x = resources.LimitFromMap(map[string]resources.Quantity{"other": 1})
	case *resources.Guarantee:
		*x = resources.GuaranteeFromMap(map[string]resources.Quantity{"other": 1})
	case *security.ACL:
		*x = security.Everyone()
	case *[]limits.Limit:
		*x = []limits.Limit{{Users: []string{"other"}}}
	case *[]limits.ClassQuota:
		*x = []limits.ClassQuota{{Name: "other"}}
	case **ChildTemplate:
		*x = nil
	case *map[string]string:
		*x = map[string]string{"other": ""}
	default:
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.String:
			v.SetString("other")
		case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint8, reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		case reflect.Struct:
			setOtherValue(t, v.Field(0))
		default:
			t.Fatalf("no other value for a %s", v.Type())
		}
	}
}

// eachField calls f with copies of x that have one field changed, for every field except those
// named.
func eachField[T any](t *testing.T, x T, f func(field string, changed T), but ...string) {
	t.Helper()
	of := reflect.TypeFor[T]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if slices.Contains(but, name) {
			continue
		}
		changed := x
		setOtherValue(t, reflect.ValueOf(&changed).Elem().Field(i))
		f(name, changed)
	}
}

// A setting that is not compared would never take effect.
func TestDifference_ComparesEveryQueueSetting(t *testing.T) {
	base := Queue{Name: "a", Parent: true, ChildTemplate: &ChildTemplate{}}
	tree := func(q Queue) Partition {
		return Partition{Root: Queue{Name: "root", Parent: true,
			Children: []Queue{{Name: "p", Parent: true, Children: []Queue{q}}}}}
	}
	differs := func(field string, q Queue) {
		assert.Check(t, !NewDifference(tree(base), tree(q)).Empty(), "a change of %s is not found", field)
	}
	assert.Assert(t, NewDifference(tree(base), tree(base)).Empty())
	eachField(t, base, differs, "Settings", "Children")
	eachField(t, base.Settings, func(field string, s Settings) {
		q := base
		q.Settings = s
		differs(field, q)
	})
	eachField(t, *base.ChildTemplate, func(field string, tt ChildTemplate) {
		q := base
		q.ChildTemplate = &tt
		differs("Template."+field, q)
	}, "Settings")
	eachField(t, base.ChildTemplate.Settings, func(field string, s Settings) {
		q := base
		q.ChildTemplate = &ChildTemplate{Settings: s}
		differs("Template."+field, q)
	})
}

// A setting of the partition is either read when it is used, or a change of it rebuilds everything.
// A new field belongs to one of the two.
func TestDifference_ClassifiesEveryPartitionSetting(t *testing.T) {
	readWhenUsed := []string{"Name", "PlacementRules", "NodePressureEnabled", "NodePressureGrace", "UserGroupResolver",
		"Budgets", "NominationTimeout", "Churn", "NodeRefusal", "Reservation", "FairnessWeights"}
	global := []string{"NodeSortPolicy", "PriorityDisabled", "PreemptionEnabled", "QuotaPreemptionEnabled",
		"ClassesNeedingQuota"}
	of := reflect.TypeFor[Partition]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		assert.Check(t, name == "Root" || slices.Contains(readWhenUsed, name) || slices.Contains(global, name), name)
	}
	from := Partition{NodeSortPolicy: policies.DefaultNodeSortPolicy()}
	for _, change := range []func(p *Partition){
		func(p *Partition) { p.NodeSortPolicy.Sort = policies.NodeSortBinPacking },
		func(p *Partition) { p.PriorityDisabled = true },
		func(p *Partition) { p.PreemptionEnabled = true },
		func(p *Partition) { p.QuotaPreemptionEnabled = true },
		func(p *Partition) { p.ClassesNeedingQuota = []limits.Selector{{}} },
	} {
		to := from
		change(&to)
		assert.Check(t, NewDifference(from, to).Global)
	}
}
