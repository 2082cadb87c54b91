package sim_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

const (
	nodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n"
	taskHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase," +
		"creation_time,deletion_time,scheduled_time\n"
)

func TestReadNodes(t *testing.T) {
	nodes, err := sim.ReadNodes("n.csv", strings.NewReader("\ufeff"+nodeHeader+"n1,32000,2,0,\nn2,1,0,8,G2\n"))
	assert.NilError(t, err)
	assert.Equal(t, len(nodes), 2)
	assert.DeepEqual(t, nodes[0].Capacity.Map(),
		map[string]resources.Quantity{"vcore": 32000, "memory": 2 << 20, "pods": 110})
	assert.DeepEqual(t, nodes[1].Capacity.Map(), map[string]resources.Quantity{"vcore": 1, sim.GPU: 8000, "pods": 110})
}

func TestReadTasks(t *testing.T) {
	tasks, err := sim.ReadTasks("t.csv", strings.NewReader(taskHeader+
		"a,12000,1,1,460,,LS,Running,5,9,5\nb,0,0,4,1000,T4|G2,BE,Failed,6,2,\nc,1,0,0,0,,BE,Running,0,0,\n"))
	assert.NilError(t, err)
	assert.DeepEqual(t, tasks[0].Amounts.Map(),
		map[string]resources.Quantity{"vcore": 12000, "memory": 1 << 20, sim.GPU: 460, "pods": 1})
	assert.DeepEqual(t, tasks[1].Amounts.Map(), map[string]resources.Quantity{sim.GPU: 4000, "pods": 1})
	assert.DeepEqual(t, tasks[2].Amounts.Map(), map[string]resources.Quantity{"vcore": 1, "pods": 1})
	assert.Equal(t, tasks[1].GPUSpec, "T4|G2")
	assert.Equal(t, tasks[0].QoS, "LS")
	assert.Equal(t, tasks[1].Created, int64(6))
	assert.Equal(t, tasks[1].Deleted, int64(2))
}

func TestReadNodes_ColumnsInAnyOrder(t *testing.T) {
	nodes, err := sim.ReadNodes("n.csv", strings.NewReader("gpu, extra ,memory_mib,sn,cpu_milli\n1,x,2,n1,3\n"))
	assert.NilError(t, err)
	assert.DeepEqual(t, nodes[0].Capacity.Map(),
		map[string]resources.Quantity{"vcore": 3, "memory": 2 << 20, sim.GPU: 1000, "pods": 110})
}

func TestReadNodes_Errors(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"nothing at all", "", "n.csv:1: the file is empty"},
		{"no rows", nodeHeader, "n.csv:1: there is no node in it"},
		{"a missing column", "sn,cpu_milli,gpu\n", "n.csv:1: column memory_mib is missing"},
		{"a column twice", "sn,gpu,sn\n", "n.csv:1: column sn is there twice"},
		{"a short row", nodeHeader + "n1,1,1,1,\nn2,1\n", "n.csv:3: wrong number of fields"},
		{"an open quote", nodeHeader + "\"n1,1,1,1,\n", "n.csv:2: extraneous or missing \" in quoted-field"},
		{"no number", nodeHeader + "n1,1,1,1,\n\nn2,1,x,1,\n",
			`n.csv:4: column memory_mib: "x" is not a whole number from 0 to 8796093022207`},
		{"a negative number", nodeHeader + "n1,-5,1,1,\n",
			`n.csv:2: column cpu_milli: "-5" is not a whole number from 0 to 9223372036854775807`},
		{"a fraction", nodeHeader + "n1,1,1,0.5,\n",
			`n.csv:2: column gpu: "0.5" is not a whole number from 0 to 9223372036854775`},
		{"too much", nodeHeader + "n1,1,8796093022208,1,\n",
			`n.csv:2: column memory_mib: "8796093022208" is not a whole number from 0 to 8796093022207`},
		{"no name", nodeHeader + ",1,1,1,\n", "n.csv:2: column sn: is empty"},
		{"a name twice", nodeHeader + "n1,1,1,1,\nn2,1,1,1,\nn1,1,1,1,\n", `n.csv:4: column sn: "n1" is ` +
			`on line 2 already`},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			_, err := sim.ReadNodes("n.csv", strings.NewReader(x.text))
			assert.Error(t, err, x.want)
		})
	}
}

func TestReadTasks_Errors(t *testing.T) {
	row := func(old, with string) string {
		return taskHeader + strings.Replace("a,1,1,1,500,,LS,Running,5,9,5\n", old, with, 1)
	}
	cases := []struct{ name, text, want string }{
		{"no class", row("LS", ""), "t.csv:2: column qos: is empty"},
		{"more than a whole GPU", row("500", "1001"), `t.csv:2: column gpu_milli: "1001" is not a whole ` +
			`number from 0 to 1000`},
		{"a time that is none", row(",5,9", ",,9"), `t.csv:2: column creation_time: "" is not a whole ` +
			`number from 0 to 500000000`},
		{"a time after the present", row(",9,", ",500000001,"),
			`t.csv:2: column deletion_time: "500000001" is not a whole number from 0 to 500000000`},
		{"the nodes instead", nodeHeader, "t.csv:1: column name is missing"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			_, err := sim.ReadTasks("t.csv", strings.NewReader(x.text))
			assert.Error(t, err, x.want)
		})
	}
}

// sample returns a small synthetic trace: 12 nodes and 80 tasks, which exceed the nodes.
func sample(t *testing.T) (nodes []sim.Node, tasks []sim.Task) {
	t.Helper()
	file, err := os.Open("testdata/nodes.csv")
	assert.NilError(t, err)
	defer file.Close()
	nodes, err = sim.ReadNodes(file.Name(), file)
	assert.NilError(t, err)
	file, err = os.Open("testdata/pods.csv")
	assert.NilError(t, err)
	defer file.Close()
	tasks, err = sim.ReadTasks(file.Name(), file)
	assert.NilError(t, err)
	return nodes, tasks
}
