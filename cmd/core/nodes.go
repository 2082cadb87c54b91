package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const nodesHelp = `Print the nodes of a running server: what is allocated, used by others and free of a
resource, and how many allocations each has. A node whose allocations exceed its capacity is
overcommitted: in each resource that is named, its allocations hold so much more than it has.`

const nodesExamples = `  canopy nodes --sort free
  canopy nodes --drained
  canopy nodes --node n1 --output json`

// node has the fields of a node that are shown: its allocations are counted.
type node struct {
	dao.Node
	Allocations []struct{} `json:"allocations,omitempty"`
}

type nodeSummary struct {
	dao.Node
	AllocationCount int `json:"allocationCount"`
}

// nodesFlags are the flags as given.
type nodesFlags struct {
	readerFlags
	node    string
	drained bool
}

// nodesCommand prints nodes (USG-12).
func nodesCommand() *cobra.Command {
	var f nodesFlags
	cmd := f.command(&cobra.Command{Use: "nodes", Short: "Print nodes and what is free on them", Long: nodesHelp,
		Example: nodesExamples}, 0, f.print)
	cmd.Flags().StringVar(&f.node, "node", "", "only the node with this `ID`")
	f.addResource(cmd, "vcore, or the first that there is")
	f.addSort(cmd, "name", "used", "free")
	cmd.Flags().BoolVar(&f.drained, "drained", false, "only nodes that take no new allocations")
	f.addLimit(cmd, 50)
	return cmd
}

func (f *nodesFlags) print(ctx context.Context, out io.Writer) (any, error) {
	var read []node
	if err := f.read(ctx, f.path("nodes"), &read); err != nil {
		return nil, err
	}
	var amounts []dao.Quantities
	all := []nodeSummary{}
	for i := range read {
		n := &read[i]
		amounts = append(amounts, n.Capacity)
		if (f.node == "" || n.NodeID == f.node) && (!f.drained || !n.Schedulable) {
			n.Node.Allocations = nil
			all = append(all, nodeSummary{n.Node, len(n.Allocations)})
		}
	}
	if err := checkKnown("node", f.node, read, func(n *node) string { return n.NodeID }); err != nil {
		return nil, err
	}
	resource := mainResource(f.resource, amounts...)
	slices.SortStableFunc(all, func(a, b nodeSummary) int {
		first := 0
		switch f.sort {
		case "used":
			first = cmp.Compare(b.Allocated[resource], a.Allocated[resource])
		case "free":
			first = cmp.Compare(b.Available[resource], a.Available[resource])
		}
		return cmp.Or(first, cmp.Compare(a.NodeID, b.NodeID))
	})
	fmt.Fprintf(out, "partition %s, %s, %s\n\n", f.partition, cmdline.Plural(len(all), "node"),
		cmdline.PrintableLine(resource))
	return all, printList(out, "NODE\tSTATE\tCAPACITY\tALLOCATED\tOTHERS\tFREE\tALLOCATIONS\tRESERVED", all, f.limit,
		func(n *nodeSummary) []string {
			state := nodeState(&n.Node)
			if len(n.Overcommitted) > 0 {
				state += ", overcommitted by " + amountsText(n.Overcommitted)
			}
			return []string{n.NodeID, state, boundText(n.Capacity, resource), amount(n.Allocated, resource),
				amount(n.Occupied, resource), amount(n.Available, resource), strconv.Itoa(n.AllocationCount),
				map[bool]string{true: "yes", false: "-"}[n.IsReserved]}
		})
}

// nodeState returns the state of a node in one word, with how many allocations are left of a drain.
func nodeState(n *dao.Node) string {
	switch {
	case n.Drain != "" && n.LeftToDrain > 0:
		return fmt.Sprintf("%s (%d left)", n.Drain, n.LeftToDrain)
	case n.Drain != "":
		return n.Drain
	case n.Cordoned:
		return "cordoned"
	case n.Schedulable:
		return "ready"
	}
	return "unschedulable"
}
