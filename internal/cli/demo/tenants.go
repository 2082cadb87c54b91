package demo

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// tenant is one of the three parent queues of a workload.
type tenant struct {
	name       string
	comment    string
	properties []string
	guaranteed int64 // percent of the cluster; 0: none
	max        int64 // percent of the cluster; 0: no limit
}

var tenantList = [tenantCount]tenant{
	{
		name: "production", comment: "an offset of 50 for each ask",
		properties: []string{`priority.offset: "50"`}, guaranteed: 40,
	}, {
		name: "research", comment: "a fence: outside of the queue its priority is always 20",
		properties: []string{"priority.policy: fence", `priority.offset: "20"`}, guaranteed: 20,
	}, {
		name: "batch", comment: "no guarantee, and a max below the cluster", max: 75,
	},
}

// amount is a quantity of vcore and memory in queues.yaml. The zero value is none.
type amount struct{ millicores, mebibytes int64 }

func percentOf(capacity resources.Amounts, percent int64) amount {
	const mebibyte = 1 << 20
	return amount{
		millicores: int64(capacity.Get(resources.VCore)) / 100 * percent,
		mebibytes:  int64(capacity.Get("memory")) / mebibyte * percent / 100,
	}
}

// leafMax returns the max of a leaf with that many siblings: at least the largest ask, and at most the max
// of the tenant.
func leafMax(capacity resources.Amounts, siblings int, t tenant) amount {
	m := percentOf(capacity, max(200/int64(siblings), 5))
	m = amount{max(m.millicores, largestAskCores*millicoresPerCore),
		max(m.mebibytes, largestAskCores*maxMemoryPerCore*1024)}
	if t.max > 0 {
		ceiling := percentOf(capacity, t.max)
		m = amount{min(m.millicores, ceiling.millicores), min(m.mebibytes, ceiling.mebibytes)}
	}
	return m
}

// tenantQueues returns a queues.yaml with n queues below root: the tenants and their leaves in turn. Every
// third leaf has a part of the guarantee of its tenant and sorts its applications by fair share; every
// fourth has a max. leaves are the paths of the leaves.
func tenantQueues(n int, capacity resources.Amounts) (text string, leaves []objects.QueuePath) {
	var b strings.Builder
	b.WriteString("# Three tenants and their queues, as `canopy demo` generates them.\n" +
		"partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: '*'\n        queues:\n")
	for i, t := range tenantList {
		fmt.Fprintf(&b, "          # %s\n          - name: %s\n", t.comment, t.name)
		if len(t.properties) > 0 {
			fmt.Fprintf(&b, "            properties: {%s}\n", strings.Join(t.properties, ", "))
		}
		writeResources(&b, "            ", percentOf(capacity, t.guaranteed), percentOf(capacity, t.max))
		b.WriteString("            queues:\n")
		siblings := (n - tenantCount + tenantCount - 1 - i) / tenantCount
		for j := range siblings {
			name := fmt.Sprintf("team-%02d", j+1)
			fmt.Fprintf(&b, "              - name: %s\n", name)
			var guaranteed, maximum amount
			if j%3 == 0 {
				guaranteed = percentOf(capacity, t.guaranteed/int64(siblings))
			}
			if guaranteed != (amount{}) { // fair share needs a guarantee
				b.WriteString("                properties: {application.sort.policy: fair}\n")
			}
			if j%4 == 1 {
				maximum = leafMax(capacity, siblings, t)
			}
			writeResources(&b, "                ", guaranteed, maximum)
			leaves = append(leaves, objects.RootPath.Child(t.name).Child(name))
		}
	}
	return b.String(), leaves
}

func writeResources(b *strings.Builder, indent string, guaranteed, maximum amount) {
	var parts []string
	for _, x := range []struct {
		key string
		amount
	}{{"guaranteed", guaranteed}, {"max", maximum}} {
		if x.amount != (amount{}) {
			parts = append(parts, fmt.Sprintf("%s: {vcore: %dm, memory: %dMi}", x.key, x.millicores, x.mebibytes))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(b, "%sresources: {%s}\n", indent, strings.Join(parts, ", "))
	}
}
