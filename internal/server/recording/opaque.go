package recording

import (
	"iter"
	"maps"
	"reflect"
	"regexp"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// opaque completes the codec of a map, or of a type whose fields are not exported: other values are recorded in its
// place. It reports whether t is such a type.
func (s codecSet) opaque(t reflect.Type, c *valueCodec) bool {
	switch t {
	case reflect.TypeFor[map[string]string]():
		entries(s, c, appendString[string])
	case reflect.TypeFor[map[string]resources.Quantity]():
		entries(s, c, appendInt[resources.Quantity])
	case reflect.TypeFor[resources.Amounts]():
		converted(s, c, resources.Amounts.Map, always(resources.FromMap))
		c.append = appendAmounts
	case reflect.TypeFor[resources.Limit]():
		converted(s, c, func(l resources.Limit) map[string]resources.Quantity {
			return withNegativePercents(l.Map(), l.Percents())
		}, always(func(m map[string]resources.Quantity) resources.Limit {
			percents := takeNegative(m)
			return resources.LimitFromMap(m).WithPercents(percents)
		}))
	case reflect.TypeFor[resources.Guarantee]():
		converted(s, c, func(g resources.Guarantee) map[string]resources.Quantity {
			return withNegativePercents(g.Map(), g.Percents())
		}, always(func(m map[string]resources.Quantity) resources.Guarantee {
			percents := takeNegative(m)
			return resources.GuaranteeFromMap(m).WithPercents(percents)
		}))
	case reflect.TypeFor[time.Time](): // a replay has times in UTC
		converted(s, c, func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }, parseTime)
	case reflect.TypeFor[time.Duration]():
		converted(s, c, time.Duration.String, time.ParseDuration)
	case reflect.TypeFor[*regexp.Regexp]():
		converted(s, c, (*regexp.Regexp).String, regexp.Compile)
	case reflect.TypeFor[security.ACL]():
		converted(s, c, accessListOf, always(accessList.acl))
	case reflect.TypeFor[budgets.Registry]():
		converted(s, c, budgets.Registry.All,
			func(all []budgets.Budget) (budgets.Registry, error) { return budgets.New(all...) })
	case reflect.TypeFor[budgets.Selector]():
		converted(s, c, selectorPartsOf, always(selectorParts.selector))
	default:
		return false
	}
	return true
}

// withNegativePercents adds percents to the quantities of a quota, which are never negative, as negative ones: so the
// format of a quota stays.
func withNegativePercents(m map[string]resources.Quantity,
	percents iter.Seq2[string, resources.Percent]) map[string]resources.Quantity {
	for name, p := range percents {
		m[name] = -resources.Quantity(p)
	}
	return m
}

// takeNegative removes the percents that withNegativePercents has added, and returns them.
func takeNegative(m map[string]resources.Quantity) map[string]resources.Percent {
	percents := map[string]resources.Percent{}
	maps.DeleteFunc(m, func(name string, n resources.Quantity) bool {
		if n < 0 && n >= -resources.Quantity(resources.AllPercent) {
			percents[name] = resources.Percent(-n)
			return true
		}
		return false
	})
	return percents
}

// appendAmounts is the same without a map: each ask has some.
func appendAmounts(b []byte, v reflect.Value) []byte {
	a := pointerTo[resources.Amounts](v)
	b = appendHead(b, majorMap, uint64(a.Len()))
	for i := range a.Len() {
		name, n := a.Entry(i)
		b = appendInt(appendString(b, name), n)
	}
	return b
}

func parseTime(text string) (time.Time, error) { return time.Parse(time.RFC3339Nano, text) }

// accessList has the parts of a security.ACL.
type accessList struct {
	Everyone      bool
	Users, Groups []string
}

func accessListOf(a security.ACL) accessList {
	users, groups := a.Names()
	return accessList{a.AllowsEveryone(), users, groups}
}

func (l accessList) acl() security.ACL {
	if l.Everyone {
		return security.Everyone()
	}
	return security.AllowList(l.Users, l.Groups)
}

// selectorParts has the parts of a budgets.Selector.
type selectorParts struct {
	Labels      map[string]string
	Expressions []budgets.Expression
}

func selectorPartsOf(s budgets.Selector) selectorParts {
	return selectorParts{s.Labels(), s.Expressions()}
}

func (p selectorParts) selector() budgets.Selector {
	return budgets.NewSelector(p.Labels, p.Expressions)
}

// converted completes the codec of T, which is recorded as its parts. The error of whole says that they are no T.
func converted[T, P any](s codecSet, c *valueCodec, parts func(T) P, whole func(P) (T, error)) {
	c.parts = s.of(reflect.TypeFor[P]())
	c.append = func(b []byte, v reflect.Value) []byte {
		p := parts(*pointerTo[T](v))
		return c.parts.append(b, reflect.ValueOf(&p).Elem())
	}
	c.read = func(item any, into reflect.Value) error {
		var p P
		if err := c.parts.read(item, reflect.ValueOf(&p).Elem()); err != nil {
			return err
		}
		value, err := whole(p)
		into.Set(reflect.ValueOf(&value).Elem())
		return err
	}
}

// always returns f as a conversion that cannot fail.
func always[P, T any](f func(P) T) func(P) (T, error) {
	return func(p P) (T, error) { return f(p), nil }
}
