package fakerm

import "github.com/apache/yunikorn-scheduler-interface/lib/go/si"

// Resource is a quantity of memory and of vcore, in the units of the scheduler interface.
func Resource(memory, vcore int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"memory": {Value: memory}, "vcore": {Value: vcore}}}
}

// Node is a new node with 100 of each resource.
func Node(id string) *si.NodeInfo {
	return &si.NodeInfo{NodeID: id, Action: si.NodeInfo_CREATE, SchedulableResource: Resource(100, 100)}
}

// App is a new application of user u in group g.
func App(id, queue string) *si.AddApplicationRequest {
	return &si.AddApplicationRequest{
		ApplicationID: id, QueueName: queue, Ugi: &si.UserGroupInformation{User: "u", Groups: []string{"g"}},
	}
}

// Ask is a new ask for 10 of each resource.
func Ask(key, app string) *si.Allocation {
	return &si.Allocation{AllocationKey: key, ApplicationID: app, ResourcePerAlloc: Resource(10, 10)}
}
