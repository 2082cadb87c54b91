package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const nodesHelp = `Print the nodes of a running server: what is allocated, used by others and free of a
resource, and how many allocations each has. A node whose allocations exceed its capacity is
overcommitted: in each resource that is named, its allocations hold so much more than it has.

The exit code is 0 when the nodes were printed, 1 when the node is unknown or the server does
not answer, and 2 when the arguments are invalid.`

const nodesExamples = `  canopy nodes --sort free
  canopy nodes --drained
  canopy nodes --node n1 --output json`

// node is what is shown of a node of an answer: its allocations are counted.
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
	node, resource, sort string
	drained              bool
	limit                int
}

// nodesCommand prints nodes (USG-12).
func nodesCommand() *cobra.Command {
	var f nodesFlags
	cmd := &cobra.Command{
		Use: "nodes", Short: "Print nodes and what is free on them", Long: nodesHelp, Example: nodesExamples,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return exitError{exitUsage, err}
			}
			return f.show(cmd, f.print)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.node, "node", "", "only the node with this `ID`")
	flags.StringVar(&f.resource, "resource", "",
		"`NAME` of the resource in text; not given: vcore, or the first that there is")
	flags.StringVar(&f.sort, "sort", "name", "name, used or free")
	flags.BoolVar(&f.drained, "drained", false, "only nodes that take no new allocations")
	flags.IntVar(&f.limit, "limit", 50, "how many to print in text; 0: all")
	f.add(flags, 0)
	return cmd
}

func (f *nodesFlags) check() error {
	var wrong []error
	if !slices.Contains([]string{"name", "used", "free"}, f.sort) {
		wrong = append(wrong, fmt.Errorf("--sort is name, used or free; not %q", f.sort))
	}
	if f.limit < 0 {
		wrong = append(wrong, fmt.Errorf("--limit is %d, and must not be below 0", f.limit))
	}
	return errors.Join(append(wrong, f.readerFlags.check())...)
}

func (f *nodesFlags) print(ctx context.Context, out io.Writer) (any, error) {
	var read []node
	if err := f.read(ctx, f.path("nodes"), &read); err != nil {
		return nil, err
	}
	var names []string
	var amounts []dao.Quantities
	all := []nodeSummary{}
	for i := range read {
		n := &read[i]
		names, amounts = append(names, n.NodeID), append(amounts, n.Capacity)
		if (f.node == "" || n.NodeID == f.node) && (!f.drained || !n.Schedulable) {
			n.Node.Allocations = nil
			all = append(all, nodeSummary{n.Node, len(n.Allocations)})
		}
	}
	if f.node != "" && !slices.Contains(names, f.node) {
		return nil, fmt.Errorf("there is no node %q: %s", f.node, oneOf(f.node, names))
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
	fmt.Fprintf(out, "partition %s, %s, %s\n\n", f.partition, plural(len(all), "node"), printableLine(resource))
	t := newTable(out, "NODE", "STATE", "CAPACITY", "ALLOCATED", "OTHERS", "FREE", "ALLOCATIONS", "RESERVED")
	for i := range all {
		n := &all[i]
		if f.limit > 0 && i == f.limit {
			break
		}
		state := nodeState(&n.Node)
		if len(n.Overcommitted) > 0 {
			state += ", overcommitted by " + amountsText(n.Overcommitted)
		}
		t.row(n.NodeID, state, boundText(n.Capacity, resource), amount(n.Allocated, resource),
			amount(n.Occupied, resource), amount(n.Available, resource), strconv.Itoa(n.AllocationCount),
			map[bool]string{true: "yes", false: "-"}[n.IsReserved])
	}
	if err := t.Flush(); err != nil {
		return nil, err
	}
	if f.limit > 0 && len(all) > f.limit {
		fmt.Fprintf(out, "and %d more; see --limit\n", len(all)-f.limit)
	}
	return all, nil
}

// nodeState is the state of a node in one word, with how many allocations are left of a drain.
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
