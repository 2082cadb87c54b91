package rmproxy

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
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
		batch.newApplication(a)
	}
	for _, a := range m.GetRemove() {
		batch.step()
		if err := batch.removeApplication(a); err != nil {
			s.logRefused("removal of application", a.GetApplicationID(), err)
		}
	}
	return batch.send()
}

// newApplication adds the command for a new application (ACL-18, APP-16). The partition gets one that is refused, too:
// so its rejection is listed and recorded like any other, and a forced one is recovered (APP-25, APP-48).
func (b *commandBatch) newApplication(a *si.AddApplicationRequest) {
	cmd := scheduler.AddApplication{
		App: objects.AppID(sanitizedID(a.ApplicationID)), Queue: a.QueueName,
		User: security.User{Name: sanitizedID(a.Ugi.GetUser())},
	}
	directory, err := b.readApplication(a, &cmd)
	if err != nil {
		cmd.Refused = reason(err.Error())
		if checkName("queue name", a.QueueName, maxQueueName) != nil {
			cmd.Queue = sanitizedID(a.QueueName)
		}
		if placement.IsCreateForced(cmd.Tags) {
			cmd.User = userNobody
		}
	}
	batch := b.partitionOrDefault(a.PartitionName)
	if batch == nil {
		b.reject(scheduler.ApplicationRejected{App: cmd.App, Queue: cmd.Queue, User: cmd.User.Name, Reason: cmd.Refused})
		return
	}
	if directory == nil {
		batch.add(cmd)
		return
	}
	groups, cached, err := directory.Cached(cmd.User.Name)
	if !cached {
		batch.addUnresolved(cmd, directory)
		return
	}
	setGroups(&cmd, groups, err)
	batch.add(cmd)
}

// readApplication checks a new application and completes its command. The error is why it is refused: one without a
// valid ID or partition has no tags then, so it is not forced. The Directory, if there is one, has to resolve the user
// (APP-16 to APP-18, GAN-1, PLC-21).
func (b *commandBatch) readApplication(a *si.AddApplicationRequest, cmd *scheduler.AddApplication) (engine.Directory,
	error) {
	if err := checkID("application ID", a.ApplicationID); err != nil {
		return nil, err
	}
	batch := b.forPartition(a.PartitionName)
	if batch == nil {
		return nil, unknownPartitionForApp(cmd.App, b.s.unknownPartition(a.PartitionName))
	}
	cmd.Tags = b.s.cloneIfShared(a.Tags)
	if err := checkName("queue name", a.QueueName, maxQueueName); err != nil {
		return nil, err
	}
	gang, err := readGang(a)
	if err != nil {
		return nil, err
	}
	user, directory, err := readUser(a.Ugi, placement.IsCreateForced(a.Tags), b.s.p.engine.Directory(batch.partition))
	if err != nil {
		return nil, err
	}
	cmd.Gang, cmd.User = gang, user
	return directory, nil
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
		return fmt.Errorf("unknown partition %s", b.s.unknownPartition(a.PartitionName))
	}
	batch.add(scheduler.RemoveApplication{App: objects.AppID(a.ApplicationID)})
	return nil
}
