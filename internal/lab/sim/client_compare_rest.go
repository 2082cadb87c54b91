package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The parts of REST that CompareREST reads.
type (
	restAllocation struct {
		Key      objects.AllocationKey `json:"allocationKey"`
		Resource demo.Quantities       `json:"resource"`
		Node     objects.NodeID        `json:"nodeId"`
		App      objects.AppID         `json:"applicationId"`
	}
	restNode struct {
		ID          objects.NodeID   `json:"nodeID"`
		Capacity    demo.Quantities  `json:"capacity"`
		Allocated   demo.Quantities  `json:"allocated"`
		Available   demo.Quantities  `json:"available"`
		Schedulable bool             `json:"schedulable"`
		Allocations []restAllocation `json:"allocations"`
	}
	restApplication struct {
		ID          objects.AppID    `json:"applicationID"`
		Requests    []restAllocation `json:"requests"`
		Allocations []restAllocation `json:"allocations"`
	}
)

// CompareREST checks that REST at address, HOST:PORT, shows the asks and allocations of the client: each
// allocation once, in its application and on its node, and each pending ask once. What is allocated on a node
// must be the sum of its allocations, and the rest of its capacity available. The preconditions are those of
// Audit.
func (c *Client) CompareREST(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var nodes []restNode
	var apps []restApplication
	partition := "http://" + address + "/ws/v1/partition/" + Partition
	if err := readREST(ctx, &client, partition+"/nodes", &nodes); err != nil {
		return err
	}
	if err := readREST(ctx, &client, partition+"/applications/active", &apps); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.compareNodes(nodes); err != nil {
		return fmt.Errorf("REST: %w", err)
	}
	if err := c.compareApplications(apps); err != nil {
		return fmt.Errorf("REST: %w", err)
	}
	return nil
}

func readREST(ctx context.Context, client *http.Client, url string, to any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is answered with %s", url, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(to); err != nil {
		return fmt.Errorf("%s is answered with an unexpected body: %w", url, err)
	}
	return nil
}

// compareNodes checks nodes and their allocations. The caller must hold the lock.
func (c *Client) compareNodes(nodes []restNode) error {
	seen := map[objects.NodeID]bool{}
	allocations := map[objects.AllocationKey]bool{}
	for _, n := range nodes {
		m, known := c.machines[n.ID]
		if !known || seen[n.ID] {
			return fmt.Errorf("node %s is shown twice, or was never registered", n.ID)
		}
		seen[n.ID] = true
		var sum resources.Amounts
		for _, x := range n.Allocations {
			if err := c.compareAllocation(x, allocations); err != nil {
				return fmt.Errorf("node %s: %w", n.ID, err)
			}
			if x.Node != n.ID {
				return fmt.Errorf("node %s has allocation %s, which says node %q", n.ID, x.Key, x.Node)
			}
			sum = sum.Add(resources.FromMap(x.Resource))
		}
		has, allocated, left := resources.FromMap(n.Capacity), resources.FromMap(n.Allocated), resources.FromMap(n.Available)
		switch {
		case n.Schedulable == m.Draining:
			return fmt.Errorf("node %s: schedulable is %v", n.ID, n.Schedulable)
		case !has.Equal(m.Capacity):
			return fmt.Errorf("node %s has %v, and was registered with %v", n.ID, has, m.Capacity)
		case !allocated.Equal(sum):
			return fmt.Errorf("node %s: %v is allocated, and its allocations have %v", n.ID, allocated, sum)
		case !left.Equal(has.Sub(allocated)):
			return fmt.Errorf("node %s: %v is available, and %v is left", n.ID, left, has.Sub(allocated))
		}
	}
	running := 0
	for _, t := range c.askStates {
		if t.node != "" {
			running++
		}
	}
	if len(seen) != len(c.machines) || len(allocations) != running {
		return fmt.Errorf("%d nodes have %d allocations; %d were registered, and %d allocations run",
			len(seen), len(allocations), len(c.machines), running)
	}
	return nil
}

// compareApplications checks the asks and allocations of applications. The caller must hold the lock.
func (c *Client) compareApplications(apps []restApplication) error {
	seen := map[objects.AllocationKey]bool{}
	for _, a := range apps {
		for _, x := range slices.Concat(a.Requests, a.Allocations) {
			if err := c.compareAllocation(x, seen); err != nil {
				return fmt.Errorf("application %s: %w", a.ID, err)
			}
			if x.App != a.ID || x.App != c.askStates[x.Key].App {
				return fmt.Errorf("application %s has %s of application %s, which says application %q",
					a.ID, x.Key, c.askStates[x.Key].App, x.App)
			}
		}
	}
	if len(seen) != len(c.askStates) {
		return fmt.Errorf("applications have %d asks and allocations, there are %d", len(seen), len(c.askStates))
	}
	return nil
}

// compareAllocation compares an ask or allocation, and adds it to those seen.
func (c *Client) compareAllocation(x restAllocation, seen map[objects.AllocationKey]bool) error {
	t, known := c.askStates[x.Key]
	switch {
	case !known:
		return fmt.Errorf("%s has ended or was never submitted", x.Key)
	case seen[x.Key]:
		return fmt.Errorf("%s is shown twice", x.Key)
	case t.node != x.Node:
		return fmt.Errorf("%s is on node %q, and was placed on node %q", x.Key, x.Node, t.node)
	case !resources.FromMap(x.Resource).Equal(t.Amounts):
		return fmt.Errorf("%s has %v, and asked for %v", x.Key, resources.FromMap(x.Resource), t.Amounts)
	}
	seen[x.Key] = true
	return nil
}
