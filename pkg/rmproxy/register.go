package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Registration has what a resource manager sent when it registered (RMI-16). It is immutable; a new
// registration or configuration makes another.
type Registration struct {
	RM          string
	Version     string // of the interface, as sent by the RM
	PolicyGroup string
	BuildInfo   map[string]string
	ExtraConfig map[string]string // of the configuration in force
	At          time.Time
}

// Registration returns the registered RM. ok is false when none is.
func (p *Proxy) Registration() (r Registration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.registered, p.current() != nil
}

// registerRM registers a resource manager (RMI-10, RMI-11). An error leaves everything as before.
//
// An RM that was registered starts over. Its session ends, so that no more of its commands come; the partitions are
// emptied; then the configuration is applied. In this order the configuration cannot conflict with nodes or
// applications, because there are none.
//
// registerRM registers an RM. mode belongs to the API over which it registers: an RM that is registered in process has
// all decisions delivered by calls, and is asked for predicates.
func (p *Proxy) registerRM(by client, m *si.RegisterResourceManagerRequest, open func() *session,
	mode loop.Mode) error {
	p.lifecycleMu.Lock()
	defer p.lifecycleMu.Unlock()
	if err := p.checkRegister(m.GetRmID()); err != nil {
		return err
	}
	old, change := p.current(), p.managerChange(m.RmID)
	if err := checkBuildInfo(m); err != nil {
		return err
	}
	proposal, err := p.readConfig(m.RmID, m.Config, m.ExtraConfig, p.engine.Reloads().ReadFirst)
	if err != nil {
		return fmt.Errorf("registration of RM failed: %w", err)
	}
	if err := p.reset(old, proposal, mode, change); err != nil {
		return fmt.Errorf("registration of RM failed: %w", err)
	}
	if err := p.startSession(m, open); err != nil {
		return err
	}
	p.noteReplaced(change)
	p.log.Info("resource manager registered", zap.String("rm", m.RmID), zap.String("version", m.Version),
		zap.Bool("again", old != nil), zap.Strings("partitions", p.cluster.Partitions()))
	by.audit(p.log, m.RmID, change.reason(), nil)
	return nil
}

// logRefusedRegistration logs the error of a registration (RMI-72). Problems of a configuration are
// in the line about the configuration: this one has the first line of the error.
func (p *Proxy) logRefusedRegistration(by client, rm string, err error) {
	if err == nil || errors.Is(err, ErrClosed) {
		return
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	p.log.Warn("registration refused", zap.String("rm", sanitizedID(rm)), zap.String("reason", reason(text)))
	by.audit(p.log, sanitizedID(rm), "", errors.New(reason(text)))
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
	s.registration = p.registrationCount.Add(1)
	for k, l := range s.sent {
		if l != nil {
			l.of = fmt.Sprintf("%s.%d.%d", p.instance, s.registration, k)
		}
	}
	p.currentSession.Store(s)
	p.endSilentStreams()
	return nil
}

// checkRegister returns an error if an RM may not register now (RMI-9).
func (p *Proxy) checkRegister(rm string) error {
	if err := checkRMID(rm); err != nil {
		return err
	}
	if old := p.current(); old != nil && old.rm != rm {
		_, err := old.checkReplaceable(rm)
		return err
	}
	return nil
}

// checkRMID checks an rmID, which is repeated in errors for other clients (RMI-7).
func checkRMID(rm string) error {
	err := checkID("rmID", rm)
	if err == nil && strings.ContainsFunc(rm, unicode.IsControl) {
		err = fmt.Errorf("rmID has a control character: %q", truncate(rm))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

// checkBuildInfo checks the length of version, policy group and build information (RMI-16).
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

// readConfig reads the configuration that an RM sends (CFG-8, CFG-89). An empty text means the
// embedded default.
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
		if err := p.engine.CheckDirectories(parsed.Config); err != nil {
			p.engine.Reloads().LogRefusal(reload.RM, rm, err)
			return nil, err
		}
		proposal = parsed
	}
	proposal.Extra, proposal.HasExtra = extra, true
	return proposal, nil
}

// problemsText lists the problems in 64 KiB at most: gRPC sends an error in a header, whose size
// clients limit (CFG-95, RMI-11).
func problemsText(problems validation.Problems) string {
	const longest = 64 << 10
	text := strings.ToValidUTF8(problems.Error(), "?")
	if len(text) <= longest {
		return text
	}
	end := strings.LastIndexByte(text[:longest], '\n') + 1
	return fmt.Sprintf("%s%d more problems", text[:end], strings.Count(text[end:], "\n")+1)
}

// reset ends the old session, empties all partitions and applies the configuration of the RM
// (CFG-113, RMI-10).
func (p *Proxy) reset(old *session, proposal *reload.Proposal, mode loop.Mode, change managerChange) error {
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
	if !mode.Sync {
		p.cluster.SetListening(false) // until the RM opens the allocation stream
	}
	p.dropUntilReset()
	if err := p.cluster.Reset(p.ctx, mode, change.reason()); err != nil {
		return p.asErrClosed(err)
	}
	collectDiscarded()
	if mode.Sync {
		p.cluster.SetListening(true) // a linked shim always listens; one with streams may have been registered before
	}
	_, err := p.engine.Reloads().Apply(p.ctx, proposal)
	return p.asErrClosed(err)
}

// updateConfiguration applies a new configuration of the registered RM (CFG-95, CFG-98, RMI-66).
func (p *Proxy) updateConfiguration(m *si.UpdateConfigurationRequest) error {
	p.lifecycleMu.Lock()
	defer p.lifecycleMu.Unlock()
	if s := p.current(); s == nil || s.rm != m.GetRmID() {
		return fmt.Errorf("RM %s has no active partitions, make sure it is registered: %w",
			truncate(m.GetRmID()), ErrNotRegistered)
	}
	proposal, err := p.readConfig(m.RmID, m.Config, m.ExtraConfig, p.engine.Reloads().Read)
	if err != nil {
		return err
	}
	if err := p.applyUpdate(proposal); err != nil {
		return p.asErrClosed(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.registered.ExtraConfig = maps.Clone(m.ExtraConfig)
	return nil
}

// updateAttempts bounds how often a configuration is tried that partitions are too busy for, each time for as long as a
// reload waits (CFG-104).
const updateAttempts = 4

// applyUpdate puts a configuration in force. A linked shim may take longer in one callback than a reload waits, and
// does not send its configuration again: the reload gets in between two callbacks (CFG-95).
func (p *Proxy) applyUpdate(proposal *reload.Proposal) (err error) {
	for range updateAttempts {
		if _, err = p.engine.Reloads().Apply(p.ctx, proposal); !errors.Is(err, reload.ErrBusy) || p.ctx.Err() != nil {
			break
		}
	}
	return err
}

// asErrClosed replaces an error of a partition by ErrClosed when the Proxy has been closed.
func (p *Proxy) asErrClosed(err error) error {
	if err != nil && p.ctx.Err() == context.Canceled {
		return ErrClosed
	}
	return err
}

func (p *Proxy) clock() time.Time { return p.engine.Now() }
