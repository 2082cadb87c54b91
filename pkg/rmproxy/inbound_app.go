package rmproxy

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// handleApplications turns an application message into commands: first new applications, then
// removals (APP-14, RMI-49, RMI-55).
func (s *session) handleApplications(m *si.ApplicationRequest) error {
	batch := s.newBatch(len(m.GetNew()) + len(m.GetRemove()))
	defer batch.discard()
	for _, a := range m.GetNew() {
		batch.step()
		if a == nil {
			s.ignore(ignoredEmpty, zap.String("message", "an application message holds an entry without an application"))
			continue
		}
		if err := batch.newApplication(a); err != nil {
			batch.reject(scheduler.ApplicationRejected{
				App: objects.AppID(sanitizedID(a.ApplicationID)), Queue: truncate(a.QueueName), Reason: err.Error(),
			})
		}
	}
	for _, a := range m.GetRemove() {
		batch.step()
		if err := batch.removeApplication(a); err != nil {
			s.logRefused("removal of application", a.GetApplicationID(), err)
		}
	}
	return batch.send()
}

// newApplication adds the command for a new application (ACL-18, APP-16, APP-17, GAN-1, PLC-21).
func (b *commandBatch) newApplication(a *si.AddApplicationRequest) error {
	if err := checkID("application ID", a.ApplicationID); err != nil {
		return err
	}
	if err := checkName("queue name", a.QueueName, maxQueueName); err != nil {
		return err
	}
	batch := b.forPartition(a.PartitionName)
	if batch == nil {
		return unknownPartitionForApp(objects.AppID(a.ApplicationID), b.s.bareName(a.PartitionName))
	}
	gang, err := readGang(a)
	if err != nil {
		return err
	}
	user, directory, err := readUser(a.Ugi, placement.IsCreateForced(a.Tags), b.s.p.engine.Directory(batch.partition))
	if err != nil {
		return err
	}
	cmd := scheduler.AddApplication{
		App: objects.AppID(a.ApplicationID), User: user, Queue: a.QueueName, Tags: b.s.cloneIfShared(a.Tags), Gang: gang,
	}
	if directory == nil {
		batch.add(cmd)
		return nil
	}
	groups, cached, err := directory.Cached(user.Name)
	if !cached {
		batch.addUnresolved(cmd, directory)
		return nil
	}
	setGroups(&cmd, groups, err)
	batch.add(cmd)
	return nil
}

// readGang reads what an application declares about its gang (GAN-1, GAN-2, GAN-19).
func readGang(a *si.AddApplicationRequest) (s gangs.Spec, err error) {
	s.Style, s.Timeout = gangs.StyleOf(a.GangSchedulingStyle), gangs.TimeoutOf(a.ExecutionTimeoutMilliSeconds)
	if sec, ok := parseUnixSeconds(a.Tags[appCreationTimeTag]); ok {
		s.Created = time.Unix(sec, 0).UTC()
	}
	if s.Virtual, err = gangs.ReadVirtual(a.Tags); err != nil {
		return s, err
	}
	if a.PlaceholderAsk == nil {
		s.Requested = gangs.RequestedBy(s.Virtual)
		return s, nil
	}
	if s.Requested, err = amountsFromProto(a.PlaceholderAsk); err == nil && s.Requested.HasNegative() {
		err = objects.ErrNegative
	}
	if err != nil {
		return s, fmt.Errorf("placeholderAsk %w", err)
	}
	return s, nil
}

// appCreationTimeTag is the tag with the creation time of an application, in seconds since 1970.
const appCreationTimeTag = common.DomainYuniKorn + common.CreationTime

func (b *commandBatch) removeApplication(a *si.RemoveApplicationRequest) error {
	if err := checkID("application ID", a.GetApplicationID()); err != nil {
		return err
	}
	batch := b.forPartition(a.PartitionName)
	if batch == nil {
		return fmt.Errorf("unknown partition %s", truncate(b.s.bareName(a.PartitionName)))
	}
	batch.add(scheduler.RemoveApplication{App: objects.AppID(a.ApplicationID)})
	return nil
}
