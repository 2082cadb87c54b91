package canopy

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// managers shows the registered resource manager over REST, and ends its registration for an
// administrator (OBS-23, OBS-80).
type managers struct{ proxy *rmproxy.Proxy }

// List has the registered resource manager; nil: none is registered.
func (m managers) List() []webservice.ResourceManager {
	status, ok := m.proxy.ConnectionStatus()
	if !ok {
		return nil
	}
	out := webservice.ResourceManager{
		ID: status.RM, State: "Disconnected", Since: status.Since, Listening: status.Listening, Streams: status.Streams,
		InProcess:   status.InProcess,
		Undelivered: status.UndeliveredBytes, Registered: status.At, Version: status.Version, PolicyGroup: status.PolicyGroup,
		BuildInfo: status.BuildInfo,
	}
	if status.Connected {
		out.State = "Connected"
	}
	if out.Streams == nil {
		out.Streams = []string{}
	}
	if !status.ReplaceableAt.IsZero() {
		out.ReplaceableFrom = &status.ReplaceableAt
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

// counts are the metrics of the resource manager.
func (m managers) counts() metrics.RM {
	status, registered := m.proxy.ConnectionStatus()
	c := m.proxy.Counts()
	return metrics.RM{
		Registered: registered, Connected: status.Connected, Listening: status.Listening,
		Undelivered: status.UndeliveredBytes,
		Disconnects: c.Disconnects, Replacements: c.Replacements, Silent: c.SilentStreams, SilentEnded: c.SilentEnded,
		Ignored: c.Ignored,
	}
}
