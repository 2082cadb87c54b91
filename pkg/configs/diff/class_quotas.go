package diff

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// putClassQuotas adds the values of the class quotas of a queue to v, by the name of the quota. Their order
// in the document has no meaning, except for the order of groups in quotas of the same match.
func putClassQuotas(v values, quotas []limits.ClassQuota) {
	for i := range quotas {
		q := &quotas[i]
		prefix := "classquota " + q.Name + " "
		v.put(prefix+"match", q.Match.String())
		if len(q.Users) > 0 {
			v.put(prefix+"users", strings.Join(q.Users, ", "))
		}
		if len(q.Groups) > 0 {
			v.put(prefix+"groups", strings.Join(q.Groups, ", "))
		}
		v.putLimit(prefix+"hard ", q.Hard)
	}
	for _, s := range limits.Scopes(quotas) {
		var groups []string
		for i := range s.Quotas {
			groups = append(groups, s.Quotas[i].Groups...)
		}
		if len(groups) > 1 && len(s.Quotas) > 1 { // a user counts for the first group that the user is in
			v.put("order of groups in class quotas of "+s.Match.String(), strings.Join(groups, ", "))
		}
	}
}
