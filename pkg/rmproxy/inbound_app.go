package rmproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// takeApplications turns an application message into commands: first what is new,
// then what is to be removed (behaviour.md 10.7).
func (s *session) takeApplications(m *si.ApplicationRequest) {
	o := &orders{s: s, most: len(m.GetNew()) + len(m.GetRemove())}
	for _, a := range m.GetNew() {
		if a == nil {
			s.log.Warn("an application message holds an entry without an application")
			continue
		}
		if err := o.newApplication(a); err != nil {
			o.refuse(scheduler.ApplicationRejected{
				App: objects.AppID(wireID(a.ApplicationID)), Reason: err.Error(),
			})
		}
	}
	for _, a := range m.GetRemove() {
		if err := o.removeApplication(a); err != nil {
			s.refused("removal of application", a.GetApplicationID(), err)
		}
	}
	o.send()
}

func (o *orders) newApplication(a *si.AddApplicationRequest) error {
	if err := checkID("application ID", a.ApplicationID); err != nil {
		return err
	}
	if err := checkName("queue name", a.QueueName, maxQueueName); err != nil {
		return err
	}
	user, err := owner(a.Ugi, isForced(a.Tags))
	if err != nil {
		return err
	}
	l := o.lot(a.PartitionName)
	if l == nil {
		return fmt.Errorf("failed to add application %s to partition %s, partition doesn't exist",
			a.ApplicationID, clip(o.s.bareName(a.PartitionName)))
	}
	l.add(scheduler.AddApplication{
		App: objects.AppID(a.ApplicationID), User: user, Queue: a.QueueName, Tags: o.s.keep(a.Tags),
	})
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

// The owner of an application that must get in although nobody knows its user.
var nobody = security.User{Name: "nobody", Groups: []string{"nogroup"}}

// owner reads the user of an application. One that came without groups is alone in a
// group of the same name, and only one that came with some must have a name that a
// configuration could use (behaviour.md 9.4).
func owner(u *si.UserGroupInformation, forced bool) (security.User, error) {
	switch {
	case u.GetUser() == "" && forced:
		return nobody, nil
	case u == nil:
		return security.User{}, fmt.Errorf("no user information")
	}
	if err := checkID("user name", u.User); err != nil {
		return security.User{}, err
	}
	for _, g := range u.Groups {
		if err := checkID("group name", g); err != nil {
			return security.User{}, err
		}
	}
	if len(u.Groups) == 0 {
		return security.User{Name: u.User, Groups: []string{u.User}}, nil
	}
	if !security.IsUserName(u.User) {
		return security.User{}, fmt.Errorf("invalid user name %q", clip(u.User))
	}
	return security.User{Name: u.User, Groups: slices.Clone(u.Groups)}, nil
}

// isForced reports whether an application already owns running work and must get in.
func isForced(tags map[string]string) bool {
	for key, value := range tags {
		if !strings.EqualFold(key, common.AppTagCreateForce) {
			continue
		}
		if yes, err := strconv.ParseBool(value); err == nil && yes {
			return true
		}
	}
	return false
}
