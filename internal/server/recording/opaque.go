package recording

import (
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// opaque says how values of a type are recorded whose fields are its own. An error says why decoded parts are no value.
type opaque struct {
	encode func(b []byte, v reflect.Value) []byte
	decode func(item any, into reflect.Value) error
	parts  reflect.Type // of what is recorded in its place; nil: quantities by name
}

// opaqueOf is how values of a type with fields of its own are recorded; known is false for other types.
func opaqueOf(t reflect.Type) (o opaque, known bool) {
	switch t {
	case reflect.TypeFor[resources.Amounts]():
		return quantities(resources.Amounts.All, resources.FromMap), true
	case reflect.TypeFor[resources.Limit]():
		return quantities(resources.Limit.All, resources.LimitFromMap), true
	case reflect.TypeFor[resources.Guarantee]():
		return quantities(resources.Guarantee.All, resources.GuaranteeFromMap), true
	case reflect.TypeFor[time.Time]():
		return converted(timeParts, timeOfParts), true
	case reflect.TypeFor[*regexp.Regexp]():
		return converted((*regexp.Regexp).String, regexp.Compile), true
	case reflect.TypeFor[security.ACL]():
		return converted(accessListOf, accessList.acl), true
	case reflect.TypeFor[budgets.Registry]():
		return converted(budgets.Registry.All,
			func(all []budgets.Budget) (budgets.Registry, error) { return budgets.New(all...) }), true
	case reflect.TypeFor[budgets.Selector]():
		return converted(selectorPartsOf, selectorParts.selector), true
	}
	return opaque{}, false
}

// timeParts are the seconds since 1970, and the nanoseconds. A replay has times in UTC.
func timeParts(t time.Time) []int64 { return []int64{t.Unix(), int64(t.Nanosecond())} }

func timeOfParts(parts []int64) (t time.Time, err error) {
	if len(parts) != 2 || parts[1] < 0 || parts[1] >= int64(time.Second) {
		return t, fmt.Errorf("%v is no time", parts)
	}
	return time.Unix(parts[0], parts[1]).UTC(), nil
}

// accessList has the parts of a security.ACL.
type accessList struct {
	Everyone      bool
	Users, Groups []string
}

func accessListOf(a security.ACL) accessList {
	users, groups := a.Names()
	return accessList{a.AllowsEveryone(), users, groups}
}

func (l accessList) acl() (security.ACL, error) {
	if l.Everyone {
		return security.Everyone(), nil
	}
	return security.AllowList(l.Users, l.Groups), nil
}

// selectorParts has the parts of a budgets.Selector.
type selectorParts struct {
	Labels      map[string]string
	Expressions []budgets.Expression
}

func selectorPartsOf(s budgets.Selector) selectorParts {
	return selectorParts{s.Labels(), s.Expressions()}
}

func (p selectorParts) selector() (budgets.Selector, error) {
	return budgets.NewSelector(p.Labels, p.Expressions), nil
}

// converted records a T as its parts.
func converted[T, P any](parts func(T) P, whole func(P) (T, error)) opaque {
	return opaque{
		parts: reflect.TypeFor[P](),
		encode: func(b []byte, v reflect.Value) []byte {
			p := parts(v.Interface().(T))
			return appendValue(b, reflect.ValueOf(&p).Elem())
		},
		decode: func(item any, into reflect.Value) error {
			var p P
			if err := decodeValue(item, reflect.ValueOf(&p).Elem()); err != nil {
				return err
			}
			value, err := whole(p)
			if err != nil {
				return err
			}
			into.Set(reflect.ValueOf(value))
			return nil
		},
	}
}

// quantities records names and quantities by turns, in the order of names.
func quantities[T any](all func(T) iter.Seq2[string, resources.Quantity],
	fromMap func(map[string]resources.Quantity) T) opaque {
	return opaque{
		encode: func(b []byte, v reflect.Value) []byte { return appendQuantities(b, all(v.Interface().(T))) },
		decode: func(item any, into reflect.Value) error {
			list, ok := item.([]any)
			if !ok || len(list)%2 != 0 {
				return fmt.Errorf("%T is no list of quantities", item)
			}
			m := make(map[string]resources.Quantity, len(list)/2)
			for i := 0; i < len(list); i += 2 {
				name, named := list[i].(string)
				n, whole := integer(list[i+1])
				if _, twice := m[name]; !named || !whole || twice {
					return fmt.Errorf("%v is no list of quantities", list)
				}
				m[name] = resources.Quantity(n)
			}
			into.Set(reflect.ValueOf(fromMap(m)))
			return nil
		},
	}
}

func appendQuantities(b []byte, all iter.Seq2[string, resources.Quantity]) []byte {
	n := 0
	for range all {
		n += 2
	}
	b = appendHead(b, majorArray, uint64(n))
	for name, q := range all {
		b = appendInt(appendString(b, name), int64(q))
	}
	return b
}
