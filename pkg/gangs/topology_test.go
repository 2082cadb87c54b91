package gangs_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
)

// A topology is read from its task group, and what is wrong with it is said (GAN-29).
func TestReadVirtual_Topology(t *testing.T) {
	long := strings.Repeat("l", 318)
	for _, c := range []struct{ topology, want string }{
		{`null`, "[] 0 0"},
		{`{"required":"rack"}`, "[rack] 0 -1"},
		{`{"preferred":"rack"}`, "[rack] -1 0"},
		{`{"required":"zone","preferred":"rack"}`, "[zone rack] 0 1"},
		{`{"levels":["zone","rack","host"],"required":"rack"}`, "[zone rack host] 1 -1"},
		{`{"levels":["zone","rack","host"],"required":"zone","preferred":"host"}`, "[zone rack host] 0 2"},
		{`{"levels":["zone"],"preferred":"zone"}`, "[zone] -1 0"},
		{`{}`, "neither required nor preferred is there"},
		{`{"levels":["zone"]}`, "neither required nor preferred is there"},
		{`{"required":null}`, "neither required nor preferred is there"},
		{`"rack"`, `"\"rack\"" is no object with levels, required and preferred`},
		{`{"require":"rack"}`, `"{\"require\":\"rack\"}" is no object with levels, required and preferred`},
		{`{"required":1}`, `"{\"required\":1}" is no object with levels, required and preferred`},
		{`{"levels":[],"required":"rack"}`, "there are 0 levels, from 1 to 8 are allowed"},
		{`{"levels":["1","2","3","4","5","6","7","8","9"],"required":"1"}`, "there are 9 levels, from 1 to 8 are allowed"},
		{`{"levels":["zone","zone"],"required":"zone"}`, `label "zone" is there twice`},
		{`{"levels":["zone",""],"required":"zone"}`, `label "" is empty or longer than 317 bytes`},
		{`{"required":""}`, `label "" is empty or longer than 317 bytes`},
		{`{"required":"` + long + `"}`, `label "` + long[:64] + `..." is empty or longer than 317 bytes`},
		{`{"levels":["zone"],"required":"rack"}`, `required "rack" is none of the levels`},
		{`{"levels":["zone"],"preferred":"rack"}`, `preferred "rack" is none of the levels`},
		{`{"levels":["zone","rack"],"required":"rack","preferred":"zone"}`,
			`preferred "zone" is not finer than required "rack"`},
		{`{"levels":["zone"],"required":"zone","preferred":"zone"}`, `preferred "zone" is not finer than required "zone"`},
		{`{"required":"zone","preferred":"zone"}`, `label "zone" is there twice`},
	} {
		groups, err := gangs.ReadVirtual(virtual(`[{"name":"g","minMember":2,"topology":` + c.topology + `}]`))
		if err != nil {
			got, ok := strings.CutPrefix(err.Error(), "tag yunikorn.apache.org/task-groups: topology of task group g: ")
			assert.Assert(t, ok, err)
			assert.Equal(t, got, c.want)
			continue
		}
		topology := groups[0].Topology
		assert.Equal(t, fmt.Sprint(topology.Levels, topology.Required, topology.Preferred), c.want)
		assert.Equal(t, topology.Declared(), c.topology != "null")
	}
}

// Placeholders that the resource manager sends are placed one by one, so their task groups have no topology. What is
// not read otherwise is no mistake.
func TestReadVirtual_TopologyNeedsVirtualPlaceholders(t *testing.T) {
	const want = "tag yunikorn.apache.org/task-groups: topology of task group g needs the tag " +
		"canopy.scheduler/virtual-placeholders"
	groups := `[{"name":"f"},{"name":"g","topology":{"required":"rack"}}]`
	for _, tags := range []map[string]string{{gangs.TaskGroupsTag: groups},
		{gangs.TaskGroupsTag: groups, gangs.VirtualPlaceholdersTag: "false"}} {
		_, err := gangs.ReadVirtual(tags)
		assert.Error(t, err, want)
	}
	for _, groups := range []string{``, `[{"name":"topology"}]`, `[{"name":"g","topology":null}]`, `{"topology":1}`,
		`"topology"`} {
		_, err := gangs.ReadVirtual(map[string]string{gangs.TaskGroupsTag: groups})
		assert.NilError(t, err)
	}
}
