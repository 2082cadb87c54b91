package sim

import (
	"bufio"
	"fmt"
	"io"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// WriteNodes writes the nodes of a synthetic trace in the format of ReadNodes.
func WriteNodes(out io.Writer, nodes []SynthNode) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "sn,cpu_milli,memory_mib,gpu,model")
	for _, n := range nodes {
		fmt.Fprintf(w, "%s,%d,%d,%d,%s\n", n.ID, n.Capacity.Get(resources.VCore), mebibytesOf(n.Capacity),
			n.Capacity.Get(GPU)/WholeGPU, n.Model)
	}
	return w.Flush()
}

// WriteTasks writes the tasks of a synthetic trace in the format of ReadTasks. The column
// scheduled_time is empty.
func WriteTasks(out io.Writer, tasks []SynthTask) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w,
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time")
	for _, t := range tasks {
		fmt.Fprintf(w, "%s,%d,%d,%d,%d,%s,%s,Succeeded,%d,%d,\n", t.Name, t.Amounts.Get(resources.VCore),
			mebibytesOf(t.Amounts),
			t.GPUs, t.Milli, t.GPUSpec, t.QoS, t.Created, t.Deleted)
	}
	return w.Flush()
}

func mebibytesOf(a resources.Amounts) resources.Quantity { return a.Get("memory") / (1 << 20) }
