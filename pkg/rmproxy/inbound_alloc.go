package rmproxy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// requiredNodeTag is the tag of an ask with the only node on which it may be placed (ASK-29).
const requiredNodeTag = common.DomainYuniKorn + common.KeyRequiredNode

// handleAllocations turns an allocation message into commands: first allocations and asks, then
// releases (ASK-4, RMI-49, RMI-57, RMI-73, PRI-48).
func (s *session) handleAllocations(m *wire.AllocationRequest) error {
	batch := s.newBatch(len(m.Allocations) + len(m.Asks) + len(m.AskReleases) + len(m.Releases))
	defer batch.discard()
	for i := range m.Allocations {
		batch.step()
		if err := batch.allocation(&m.Allocations[i]); err != nil {
			batch.rejectAllocation(&m.Allocations[i], err)
		}
	}
	for i := range m.Asks {
		batch.step()
		if err := batch.legacyAsk(&m.Asks[i]); err != nil {
			batch.rejectAllocation(&m.Asks[i], err)
		}
	}
	batch.releases(m.AskReleases, scheduler.OnlyAsks)
	batch.releases(m.Releases, s.releaseScope())
	return batch.send()
}

func (b *commandBatch) releases(all []wire.Release, scope scheduler.ReleaseScope) {
	for i := range all {
		b.step()
		if err := b.release(&all[i], scope); err != nil {
			b.s.logRefused("release of", all[i].Key, err)
		}
	}
}

// rejectAllocation has the partition reject an ask or an allocation that is malformed, so that the rejection is counted
// and recorded like any other (APP-48).
func (b *commandBatch) rejectAllocation(x *wire.Allocation, err error) {
	rejected := scheduler.AskRejected{
		Key: objects.AllocationKey(sanitizedID(x.Key)), App: objects.AppID(sanitizedID(x.App)),
		Kind: rejectionOf(err), Reason: reason(err.Error()), Reported: x.Node != "",
	}
	if batch := b.partitionOrDefault(x.Partition); batch != nil {
		batch.add(scheduler.RejectAsk{Rejected: rejected})
		return
	}
	b.reject(rejected)
}

// allocation adds the command for an ask, for an allocation if it has a node, or for a foreign
// allocation (ASK-2, ASK-9).
func (b *commandBatch) allocation(x *wire.Allocation) error {
	if err := checkID("allocation key", x.Key); err != nil {
		return err
	}
	if err := checkName("node ID", x.Node, maxID); err != nil {
		return err
	}
	if x.Legacy != nil {
		if err := checkLegacy(x); err != nil {
			return err
		}
	}
	if x.AmountsErr != nil {
		return x.AmountsErr
	}
	if kind, foreign := x.Tags[common.Foreign]; foreign {
		return b.foreign(x, kind)
	}
	if text, sent := x.Tags[common.CreationTime]; sent && !isTime(text) {
		b.s.ignore(ignoredTag, zap.String("key", x.Key), zap.String("tag", common.CreationTime),
			zap.String("value", truncate(text)))
	}
	ask, err := readAsk(x)
	if err != nil {
		return err
	}
	batch := b.forPartition(x.Partition)
	switch {
	case batch == nil:
		return b.unknownPartition(x)
	case x.Node == "":
		if line := b.s.log.Check(zap.DebugLevel, "ask received"); line != nil {
			line.Write(askFields(batch.partition, ask)...)
		}
		batch.add(b.submitCommand(ask, x))
	default:
		if line := b.s.log.Check(zap.DebugLevel, "allocation reported"); line != nil {
			line.Write(append(askFields(batch.partition, ask), zap.String("node", x.Node))...)
		}
		batch.add(b.reportCommand(ask, x))
	}
	return nil
}

// askFields are the fields of a log line about an ask.
func askFields(partition string, a *objects.Ask) []zap.Field {
	return []zap.Field{
		zap.String("partition", partition), zap.String("application", string(a.App)), zap.String("key", string(a.Key)),
		zap.Int32("priority", a.Priority), zap.String("amounts", resources.FormatAmounts(a.Amounts)),
	}
}

func (b *commandBatch) unknownPartition(x *wire.Allocation) error {
	return unknownPartitionForAsk(objects.AppID(x.App), objects.AllocationKey(x.Key), b.s.unknownPartition(x.Partition))
}

// foreign reports an allocation of another scheduler (ASK-55, ASK-57). Its application is ignored.
func (b *commandBatch) foreign(x *wire.Allocation, kind string) error {
	if x.Node == "" {
		return fmt.Errorf("trying to add a foreign request (non-allocation) %s", x.Key)
	}
	if kind != common.AllocTypeStatic && kind != common.AllocTypeDefault {
		b.s.ignore(ignoredTag, zap.String("message", "unknown kind of foreign allocation, taken as default"),
			zap.String("key", x.Key), zap.String("value", truncate(kind)))
	}
	batch := b.forPartition(x.Partition)
	if batch == nil {
		return b.unknownPartition(x)
	}
	batch.add(scheduler.ReportForeign{Foreign: objects.Foreign{
		Key: objects.AllocationKey(x.Key), Node: objects.NodeID(x.Node), Amounts: x.Amounts,
		Static: kind == common.AllocTypeStatic, Tags: x.Tags,
	}})
	return nil
}

// readAsk reads the fields of an ask that do not depend on its partition (ASK-2).
func readAsk(x *wire.Allocation) (*objects.Ask, error) {
	if err := checkID("application ID", x.App); err != nil {
		return nil, err
	}
	if err := checkName("task group name", x.TaskGroup, maxID); err != nil {
		return nil, err
	}
	required := x.Tags[requiredNodeTag]
	if err := checkName("required node ID", required, maxID); err != nil {
		return nil, err
	}
	return &objects.Ask{
		Key: objects.AllocationKey(x.Key), App: objects.AppID(x.App),
		Amounts: x.Amounts, Priority: x.Priority, Created: objects.TimestampOf(creationTime(x.Tags)),
		Placeholder: x.Placeholder, Originator: x.Originator, Policy: x.Policy,
		Details: objects.NewAskDetails(objects.AskDetails{
			TaskGroup: x.TaskGroup, RequiredNode: objects.NodeID(required), Tags: x.Tags,
		}),
	}, nil
}

// creationTime reads the creation time of the RM's object from the tags (ASK-5). An invalid time is
// ignored, and so is one that has no nanoseconds since 1970 in an int64, which REST shows.
func creationTime(tags map[string]string) time.Time {
	text, sent := tags[common.CreationTime]
	if !sent {
		return time.Time{} // the usual case, and a parse error allocates
	}
	sec, ok := parseUnixSeconds(text)
	if !ok {
		return time.Time{}
	}
	return time.Unix(sec, 0)
}

// parseUnixSeconds reads a time in seconds since 1970 (ASK-5).
func parseUnixSeconds(text string) (sec int64, ok bool) {
	sec, err := strconv.ParseInt(text, 10, 64)
	return sec, err == nil && sec >= 0 && sec <= math.MaxInt64/int64(time.Second)
}

func isTime(text string) bool {
	_, ok := parseUnixSeconds(text)
	return ok
}

// NodeRefused is the message of a release that says why the node of the allocation refused it: the binding failed. When
// the resource manager sends the ask again, it is not placed on that node for a time (NOD-44).
func NodeRefused(reason string) string { return wire.NodeRefused + ": " + reason }

// release adds the command for a release (ASK-51, ASK-59). A release without an application is one
// of a foreign allocation.
func (b *commandBatch) release(x *wire.Release, scope scheduler.ReleaseScope) error {
	if err := legacyRelease(x); err != nil {
		return err
	}
	if err := checkName("allocation key", x.Key, maxID); err != nil {
		return err
	}
	if err := checkName("application ID", x.App, maxID); err != nil {
		return err
	}
	batch := b.forPartition(x.Partition)
	switch {
	case batch == nil:
		return fmt.Errorf("unknown partition %s", b.s.unknownPartition(x.Partition))
	case x.App != "":
		r := scheduler.Release{App: objects.AppID(x.App), Key: objects.AllocationKey(x.Key),
			Type: scheduler.Termination(x.Type), Scope: scope}
		var reason string
		reason, r.NodeRefused = strings.CutPrefix(x.Message, wire.NodeRefused)
		if r.NodeRefused {
			r.Message = events.Message(strings.ToValidUTF8(strings.TrimLeft(reason, ": "), "?"))
		}
		batch.add(r)
	case x.Key != "" && scope != scheduler.OnlyAsks:
		batch.add(scheduler.ReleaseForeign{Key: objects.AllocationKey(x.Key)})
	default:
		return fmt.Errorf("the release names neither an application nor an allocation")
	}
	return nil
}
