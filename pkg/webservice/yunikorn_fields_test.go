package webservice

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The fields of YuniKorn 1.9 by object. Those behind a bar are absent in Canopy, which docs/YUNIKORN.md says.
var yunikornFields = []struct {
	body   any
	fields string
}{
	{dao.Cluster{}, "startTime rmBuildInformation partition clusterName"},
	{dao.Partition{},
		"clusterId name capacity nodeSortingPolicy preemptionEnabled quotaPreemptionEnabled totalNodes applications " +
			"totalContainers state lastStateTransitionTime"},
	{dao.Capacity{}, "capacity usedCapacity utilization"},
	{dao.NodeSort{}, "type resourceWeights"},
	{dao.Queue{},
		"queuename status partition pendingResource maxResource guaranteedResource allocatedResource preemptingResource " +
			"headroom isLeaf isManaged properties parent template children childNames absUsedCapacity maxRunningApps " +
			"runningApps currentPriority sortingPolicy prioritySorting preemptionEnabled isPreemptionFence preemptionDelay " +
			"quotaPreemptionDelay isPriorityFence priorityOffset | allocatingAcceptedApps"},
	{dao.Template{}, "maxApplications maxResource guaranteedResource properties"},
	{dao.Application{},
		"applicationID usedResource maxUsedResource pendingResource partition queueName submissionTime finishedTime " +
			"requests allocations applicationState user groups rejectedMessage stateLog placeholderData hasReserved " +
			"reservations maxRequestPriority startTime resourceHistory | backoffDeadline"},
	{dao.State{}, "time applicationState"},
	{dao.TaskGroup{}, "taskGroupName count minResource replaced timedout"},
	{dao.UsageHistory{}, "resourceUsage preemptedResource placeholderResource"},
	{dao.Ask{},
		"allocationKey allocationTags requestTime resource priority requiredNodeId applicationId placeholder taskGroupName " +
			"triggeredPreemption originator allocationLog schedulingAttempted triggeredScaleUp"},
	{dao.Allocation{},
		"allocationKey allocationTags requestTime allocationTime allocationDelay resource priority nodeId applicationId " +
			"placeholder taskGroupName preempted originator | placeholderUsed"},
	{dao.Foreign{}, "allocationKey allocationTags resource nodeId preemptable | allocationTime priority"},
	{dao.Node{},
		"nodeID hostName rackName attributes capacity allocated occupied available utilized allocations foreignAllocations " +
			"schedulable isReserved reservations"},
	{dao.UserUsage{}, "userName groups queues"},
	{dao.GroupUsage{}, "groupName applications queues"},
	{dao.QueueUsage{}, "queuePath resourceUsage runningApplications maxResources maxApplications children"},
	{dao.NodeUtilizations{}, "clusterId partition utilizations"},
	{dao.NodeUtilization{}, "type utilization"},
	{dao.UtilizationBucket{}, "bucketName numOfNodes nodeNames"},
	{dao.ApplicationSample{}, "timestamp totalApplications"},
	{dao.ContainerSample{}, "timestamp totalContainers"},
	{dao.HealthCheck{}, "Healthy HealthChecks"},
	{dao.Check{}, "Name Succeeded Description DiagnosisMessage"},
	{dao.EventBatch{}, "InstanceUUID LowestID HighestID EventRecords"},
	{dao.Event{}, "type objectID message timestampNano eventChangeType eventChangeDetail referenceID resource"},
	{dao.PlacementRule{}, "name parameters filter parentRule"},
	{dao.Validation{}, "allowed reason"},
	{dao.StateDump{},
		"timestamp partitions applications appHistory nodes clusterInfo containerHistory queues rmDiagnostics logLevel " +
			"config placementRules eventStreams"},
	{dao.PartitionNodes{}, "partitionName nodesInfo"},
	{dao.PartitionRules{}, "partition rules"},
	{dao.EventStream{}, "Name CreatedAt"},
	{dao.Error{}, "status_code message description"},
	{dao.Config{}, "Partitions Checksum Extra DeadlockDetectionEnabled DeadlockTimeoutSeconds"},
}

func TestFields_OfYuniKornAreThereOrKnownToBeAbsent(t *testing.T) {
	for _, x := range yunikornFields {
		typ := reflect.TypeOf(x.body)
		known := fieldNames(typ)
		there, absent, _ := strings.Cut(x.fields, "|")
		for name := range strings.FieldsSeq(there) {
			assert.Assert(t, slices.Contains(known, name), "%v has no %s", typ, name)
		}
		for name := range strings.FieldsSeq(absent) {
			assert.Assert(t, !slices.Contains(known, name), "%v has %s", typ, name)
		}
	}
}
