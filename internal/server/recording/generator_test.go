package recording

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// generator fills values. Names and slices are short, and every kind of value may be zero, too.
type generator struct {
	*rand.Rand
	utf8 bool // names are UTF-8
}

func (g generator) fill(v reflect.Value) {
	if make, ok := opaqueValues[v.Type()]; ok {
		v.Set(reflect.ValueOf(make(g)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(g.Uint64()) >> g.IntN(64))
	case reflect.Int32:
		v.SetInt(int64(int32(g.Uint32()) >> g.IntN(32)))
	case reflect.Uint8:
		v.SetUint(uint64(g.IntN(256)))
	case reflect.Uint64:
		v.SetUint(g.Uint64() >> g.IntN(64))
	case reflect.Float64:
		v.SetFloat(g.Float64() * 10)
	case reflect.String:
		v.SetString(g.name())
	case reflect.Pointer:
		if g.IntN(4) > 0 || v.Type() == reflect.TypeFor[*objects.Ask]() {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem())
		}
	case reflect.Slice:
		if n := g.IntN(4) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				if depth(v.Type().Elem()) && g.IntN(3) > 0 {
					continue // a tree of queues ends
				}
				g.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if g.IntN(4) > 0 {
			v.Set(reflect.ValueOf(g.strings()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !derived(v.Type().Field(i)) {
				g.fill(v.Field(i))
			}
		}
	default:
		panic(v.Type().String())
	}
}

// depth reports whether values of a type contain such values.
func depth(t reflect.Type) bool { return t.Kind() == reflect.Struct && t.Name() == "Queue" }

func (g generator) name() string {
	b := make([]byte, g.IntN(40))
	for i := range b {
		b[i] = byte(g.IntN(256))
	}
	if g.utf8 {
		return strings.ToValidUTF8(string(b), "ä")
	}
	return string(b)
}

func (g generator) strings() map[string]string {
	m := map[string]string{}
	for range g.IntN(20) {
		m[g.name()] = g.name()
	}
	return m
}

func (g generator) quantities() map[string]resources.Quantity {
	m := map[string]resources.Quantity{}
	for range g.IntN(4) {
		m[g.name()] = resources.Quantity(int64(g.Uint64())>>g.IntN(64) | 1) // Amounts have no zeroes
	}
	return m
}

// quota generates quantities, and percents of other resources.
func (g generator) quota() (map[string]resources.Quantity, map[string]resources.Percent) {
	written, percents := map[string]resources.Quantity{}, map[string]resources.Percent{}
	for name, n := range g.quantities() {
		if g.IntN(2) == 0 {
			percents[name] = resources.Percent(1 + g.IntN(int(resources.AllPercent)))
		} else {
			written[name] = max(n, -(n + 1)) // quotas are not negative
		}
	}
	return written, percents
}

func (g generator) label() string { return string(rune('a' + g.IntN(26))) }

var opaqueValues = map[reflect.Type]func(g generator) any{
	reflect.TypeFor[resources.Amounts](): func(g generator) any {
		if m := g.quantities(); len(m) > 0 {
			return resources.FromMap(m)
		}
		return resources.Amounts{}
	},
	reflect.TypeFor[resources.Limit](): func(g generator) any {
		written, percents := g.quota()
		return resources.LimitFromMap(written).WithPercents(percents)
	},
	reflect.TypeFor[resources.Guarantee](): func(g generator) any {
		written, percents := g.quota()
		return resources.GuaranteeFromMap(written).WithPercents(percents)
	},
	reflect.TypeFor[time.Time](): func(g generator) any {
		if g.IntN(4) == 0 {
			return time.Time{}
		}
		return time.Unix(g.Int64N(1<<33), g.Int64N(1e9)).UTC()
	},
	reflect.TypeFor[*regexp.Regexp](): func(g generator) any {
		if g.IntN(3) == 0 {
			return (*regexp.Regexp)(nil)
		}
		return regexp.MustCompile("^" + g.label() + ".*$")
	},
	reflect.TypeFor[security.ACL](): func(g generator) any {
		if g.IntN(3) == 0 {
			return security.Everyone()
		}
		return security.AllowList([]string{g.name(), g.name()}, []string{g.name()})
	},
	reflect.TypeFor[budgets.Selector](): randomSelector,
	reflect.TypeFor[budgets.Registry](): func(g generator) any {
		b := budgets.Budget{Namespace: g.label(), Name: g.label(),
			Allowance: budgets.Allowance{Kind: budgets.AllowanceKind(1 + g.IntN(2)), N: int32(g.IntN(5))}}
		b.Selector = randomSelector(g).(budgets.Selector)
		r, err := budgets.New(b)
		if err != nil {
			panic(err)
		}
		return r
	},
}

// equalValues is reflect.DeepEqual, but that regular expressions are equal if their texts are.
func equalValues(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	if r, ok := a.Interface().(*regexp.Regexp); ok {
		s := b.Interface().(*regexp.Regexp)
		return (r == nil) == (s == nil) && (r == nil || r.String() == s.String())
	}
	if _, ok := opaqueValues[a.Type()]; ok {
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
	switch a.Kind() {
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || equalValues(a.Elem(), b.Elem()))
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !derived(a.Type().Field(i)) && !equalValues(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func randomSelector(g generator) any {
	return budgets.NewSelector(map[string]string{g.label(): g.label()},
		[]budgets.Expression{{Key: g.label(), Operator: budgets.In, Values: []string{g.label()}}})
}

// derived reports whether a field is not recorded.
func derived(f reflect.StructField) bool { return f.Tag.Get("recording") == "-" }
