package rmproxy

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// takeApplications turns an application message into commands: first what is new,
// then what is to be removed (behaviour.md 10.7).
func (s *session) takeApplications(m *si.ApplicationRequest) error {
	o := &orders{s: s, most: len(m.GetNew()) + len(m.GetRemove())}
	for _, a := range m.GetNew() {
		if a == nil {
			s.ignore(ignoredEmpty, zap.String("message", "an application message holds an entry without an application"))
			continue
		}
		if err := o.newApplication(a); err != nil {
			o.refuse(scheduler.ApplicationRejected{
				App: objects.AppID(wireID(a.ApplicationID)), Queue: clip(a.QueueName), Reason: err.Error(),
			})
		}
	}
	for _, a := range m.GetRemove() {
		if err := o.removeApplication(a); err != nil {
			s.refused("removal of application", a.GetApplicationID(), err)
		}
	}
	return o.send()
}

func (o *orders) newApplication(a *si.AddApplicationRequest) error {
	if err := checkID("application ID", a.ApplicationID); err != nil {
		return err
	}
	if err := checkName("queue name", a.QueueName, maxQueueName); err != nil {
		return err
	}
	l := o.lot(a.PartitionName)
	if l == nil {
		return noPartition(objects.AppID(a.ApplicationID), o.s.bareName(a.PartitionName))
	}
	user, ask, err := owner(a.Ugi, placement.IsForced(a.Tags), o.s.p.directory(l.partition))
	if err != nil {
		return err
	}
	cmd := scheduler.AddApplication{
		App: objects.AppID(a.ApplicationID), User: user, Queue: a.QueueName, Tags: o.s.keep(a.Tags),
	}
	if ask == nil {
		l.add(cmd)
		return nil
	}
	groups, known, err := ask.Known(user.Name)
	if !known {
		l.addStranger(cmd, ask)
		return nil
	}
	resolve(&cmd, groups, err)
	l.add(cmd)
	return nil
}

func (o *orders) removeApplication(a *si.RemoveApplicationRequest) error {
	if err := checkID("application ID", a.GetApplicationID()); err != nil {
		return err
	}
	l := o.lot(a.PartitionName)
	if l == nil {
		return fmt.Errorf("unknown partition %s", clip(o.s.bareName(a.PartitionName)))
	}
	l.add(scheduler.RemoveApplication{App: objects.AppID(a.ApplicationID)})
	return nil
}
