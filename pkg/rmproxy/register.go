package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Registration is what a resource manager said about itself. It never changes; a
// re-registration or a new configuration makes another.
type Registration struct {
	RM          string
	Version     string // of the interface, as the RM sees it
	PolicyGroup string
	BuildInfo   map[string]string
	ExtraConfig map[string]string // of the configuration in force
	At          time.Time
}

// Registration says who is registered. ok is false when nobody is.
func (p *Proxy) Registration() (r Registration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.registered, p.current() != nil
}

// registerRM registers a resource manager. When it refuses, everything is as before.
//
// An RM that was registered starts over. Its session ends, so that none of its
// commands can come later; the partitions forget; then the configuration is put in
// force. In that order nothing can be in its way, because a valid configuration is
// refused only for the sake of nodes and applications, and there are none.
func (p *Proxy) registerRM(m *si.RegisterResourceManagerRequest, open func() *session) error {
	p.lifecycleMu.Lock()
	defer p.lifecycleMu.Unlock()
	if err := p.checkRegister(m.GetRmID()); err != nil {
		return err
	}
	old := p.current()
	if old != nil && old.rm != m.RmID {
		p.log.Warn("resource manager replaced: it was disconnected", zap.String("rm", old.rm), zap.String("by", m.RmID))
	}
	if err := checkBuildInfo(m); err != nil {
		return err
	}
	proposal, err := p.readConfig(m.RmID, m.Config, m.ExtraConfig, p.reloads.ReadFirst)
	if err != nil {
		return fmt.Errorf("registration of RM failed: %w", err)
	}
	if err := p.reset(old, proposal); err != nil {
		return fmt.Errorf("registration of RM failed: %w", err)
	}
	if err := p.startSession(m, open); err != nil {
		return err
	}
	p.log.Info("resource manager registered", zap.String("rm", m.RmID), zap.String("version", m.Version),
		zap.Bool("again", old != nil), zap.Strings("partitions", p.cluster.Partitions()))
	return nil
}

func (p *Proxy) startSession(m *si.RegisterResourceManagerRequest, open func() *session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.registered = Registration{
		RM: m.RmID, Version: m.Version, PolicyGroup: m.PolicyGroup, BuildInfo: maps.Clone(m.BuildInfo),
		ExtraConfig: maps.Clone(m.ExtraConfig), At: p.clock(),
	}
	s := open()
	p.registrationCount++
	s.registration = p.registrationCount
	p.currentSession.Store(s)
	p.endSilentStreams()
	return nil
}

// checkRegister says why an RM cannot register now.
func (p *Proxy) checkRegister(rm string) error {
	if err := checkRMID(rm); err != nil {
		return err
	}
	if old := p.current(); old != nil && old.rm != rm {
		_, err := old.checkReplaceable()
		return err
	}
	return nil
}

func checkRMID(rm string) error {
	if !utf8.ValidString(rm) || len(rm) > maxID || rm == "" {
		return fmt.Errorf("%w: %w", ErrRequest, checkID("rmID", rm))
	}
	return nil
}

// checkBuildInfo reports that an RM says too much of itself.
func checkBuildInfo(m *si.RegisterResourceManagerRequest) error {
	n := len(m.Version) + len(m.PolicyGroup)
	for key, value := range m.BuildInfo {
		n += len(key) + len(value)
	}
	if n > maxBuildInfo {
		return fmt.Errorf("%w: version, policy group and build information have %d bytes, at most %d are allowed",
			ErrRequest, n, maxBuildInfo)
	}
	return nil
}

// readConfigFunc is Read or ReadFirst of a Reloader.
type readConfigFunc func(source reload.Source, from string, text []byte) (*reload.Proposal, error)

// readConfig reads the configuration that an RM sends. Without a text it is the embedded one
// (behaviour.md 1.1.2).
func (p *Proxy) readConfig(rm, text string, extra map[string]string, read readConfigFunc) (*reload.Proposal, error) {
	if err := reload.CheckExtra(extra); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	proposal := &reload.Proposal{Source: reload.RM, From: rm}
	switch {
	case p.opt.IgnoreRMConfig && text != "":
		p.log.Info("the configuration of the resource manager is ignored: a file was given",
			zap.String("rm", rm))
	case p.opt.IgnoreRMConfig:
	case text == "":
		embedded := reload.Default()
		proposal.Text, proposal.Config, proposal.Warnings = embedded.Text, embedded.Config, embedded.Warnings
	default:
		parsed, err := read(reload.RM, rm, []byte(text))
		if invalid := new(reload.InvalidError); errors.As(err, &invalid) {
			return nil, fmt.Errorf("%w:\n%s", ErrConfig, problemsText(invalid.Problems))
		}
		if _, err := p.newDirectories(parsed.Config); err != nil {
			p.reloads.LogRefusal(reload.RM, rm, err)
			return nil, err
		}
		proposal = parsed
	}
	proposal.Extra, proposal.HasExtra = extra, true
	return proposal, nil
}

// problemsText is all problems as a text. An error of gRPC travels in a header, which peers
// take up to a size only.
func problemsText(problems configs.Problems) string {
	const longest = 64 << 10
	text := strings.ToValidUTF8(problems.Error(), "?")
	if len(text) <= longest {
		return text
	}
	end := strings.LastIndexByte(text[:longest], '\n') + 1
	return fmt.Sprintf("%s%d more problems", text[:end], strings.Count(text[end:], "\n")+1)
}

// reset ends the old session, empties all partitions and puts in force what the RM
// wishes.
func (p *Proxy) reset(old *session, proposal *reload.Proposal) error {
	if old != nil {
		p.mu.Lock()
		p.currentSession.Store(nil)
		p.mu.Unlock()
		cause := errReregistered
		if old.rm != proposal.From {
			cause = errRMReplaced
		}
		old.close(cause)
	}
	if p.isRemote {
		p.cluster.SetListening(false) // until it opens the stream on which decisions are told
	}
	p.dropUntilForgotten()
	if err := p.cluster.Forget(p.ctx); err != nil {
		return p.asErrClosed(err)
	}
	_, err := p.reloads.Apply(p.ctx, proposal)
	return p.asErrClosed(err)
}

// updateConfiguration puts a new configuration in force for the RM that is registered.
func (p *Proxy) updateConfiguration(m *si.UpdateConfigurationRequest) error {
	p.lifecycleMu.Lock()
	defer p.lifecycleMu.Unlock()
	if s := p.current(); s == nil || s.rm != m.GetRmID() {
		return fmt.Errorf("RM %s has no active partitions, make sure it is registered: %w",
			truncate(m.GetRmID()), ErrNotRegistered)
	}
	proposal, err := p.readConfig(m.RmID, m.Config, m.ExtraConfig, p.reloads.Read)
	if err != nil {
		return err
	}
	if _, err := p.reloads.Apply(p.ctx, proposal); err != nil {
		return p.asErrClosed(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.registered.ExtraConfig = maps.Clone(m.ExtraConfig)
	return nil
}

// asErrClosed tells an error of the partitions from their end.
func (p *Proxy) asErrClosed(err error) error {
	if err != nil && p.ctx.Err() == context.Canceled {
		return ErrClosed
	}
	return err
}

func (p *Proxy) clock() time.Time {
	if p.opt.Loop.Now != nil {
		return p.opt.Loop.Now()
	}
	return time.Now()
}
