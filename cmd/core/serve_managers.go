package main

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// managers shows the resource manager that is registered over REST, and lets an administrator end
// its registration.
type managers struct{ proxy *rmproxy.Proxy }

// List is the one that is registered, if there is one.
func (m managers) List() []webservice.ResourceManager {
	is, ok := m.proxy.ConnectionStatus()
	if !ok {
		return nil
	}
	out := webservice.ResourceManager{
		ID: is.RM, State: "Disconnected", Since: is.Since, Listening: is.Listening, Streams: is.Streams, InProcess: is.InProcess,
		Undelivered: is.UndeliveredBytes, Registered: is.At, Version: is.Version, PolicyGroup: is.PolicyGroup, BuildInfo: is.BuildInfo,
	}
	if is.Connected {
		out.State = "Connected"
	}
	if out.Streams == nil {
		out.Streams = []string{}
	}
	if !is.ReplaceableAt.IsZero() {
		out.ReplaceableFrom = &is.ReplaceableAt
	}
	return []webservice.ResourceManager{out}
}

// Release ends the registration of a resource manager.
func (m managers) Release(rm string, force bool) error {
	switch err := m.proxy.Release(rm, force); {
	case errors.Is(err, rmproxy.ErrNotRegistered):
		return fmt.Errorf("%w: %s", webservice.ErrNoManager, rm)
	case errors.Is(err, rmproxy.ErrConnected):
		return fmt.Errorf("%w: %s", webservice.ErrManagerConnected, rm)
	default:
		return err
	}
}

// counts is what metrics say of the resource manager.
func (m managers) counts() metrics.RM {
	is, registered := m.proxy.ConnectionStatus()
	c := m.proxy.Counts()
	return metrics.RM{
		Registered: registered, Connected: is.Connected, Listening: is.Listening, Undelivered: is.UndeliveredBytes,
		Disconnects: c.Disconnects, Silent: c.SilentStreams, SilentEnded: c.SilentEnded, Ignored: c.Ignored,
	}
}
