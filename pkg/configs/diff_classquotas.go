package configs

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// putClassQuotas puts what the class quotas of a queue say, by name: the order in which they
// are written says nothing, but for groups of quotas of one match.
func putClassQuotas(v map[string]string, quotas []limits.ClassQuota) {
	for i := range quotas {
		q := &quotas[i]
		prefix := "classquota " + q.Name + " "
		v[prefix+"match"] = q.Match.String()
		if len(q.Users) > 0 {
			v[prefix+"users"] = strings.Join(q.Users, ", ")
		}
		if len(q.Groups) > 0 {
			v[prefix+"groups"] = strings.Join(q.Groups, ", ")
		}
		for name, n := range q.Hard.All() {
			v[prefix+"hard "+name] = resources.FormatQuantity(name, n)
		}
	}
	for _, s := range limits.Scopes(quotas) {
		var groups []string
		for i := range s.Quotas {
			groups = append(groups, s.Quotas[i].Groups...)
		}
		if len(groups) > 1 && len(s.Quotas) > 1 { // the first one that a user is in answers for the user
			v["order of groups in class quotas of "+s.Match.String()] = strings.Join(groups, ", ")
		}
	}
}
