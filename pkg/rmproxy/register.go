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
	return p.record, p.current() != nil
}

// enlist registers a resource manager. When it refuses, everything is as before.
//
// An RM that was registered starts over. Its session ends, so that none of its
// commands can come later; the partitions forget; then the configuration is put in
// force. In that order nothing can be in its way, because a valid configuration is
// refused only for the sake of nodes and applications, and there are none.
func (p *Proxy) enlist(m *si.RegisterResourceManagerRequest, open func() *session) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if err := p.mayRegister(m.GetRmID()); err != nil {
		return err
	}
	old := p.current()
	if old != nil && old.rm != m.RmID {
		p.log.Warn("resource manager replaced: it was disconnected", zap.String("rm", old.rm), zap.String("by", m.RmID))
	}
	if err := checkBuild(m); err != nil {
		return err
	}
	wish, err := p.wanted(m.RmID, m.Config, m.ExtraConfig, p.reloads.ReadFirst)
	if err != nil {
		return fmt.Errorf("registration of RM failed: %w", err)
	}
	if err := p.startOver(old, wish); err != nil {
		return fmt.Errorf("registration of RM failed: %w", err)
	}
	if err := p.install(m, open); err != nil {
		return err
	}
	p.log.Info("resource manager registered", zap.String("rm", m.RmID), zap.String("version", m.Version),
		zap.Bool("again", old != nil), zap.Strings("partitions", p.cluster.Partitions()))
	return nil
}

func (p *Proxy) install(m *si.RegisterResourceManagerRequest, open func() *session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.record = Registration{
		RM: m.RmID, Version: m.Version, PolicyGroup: m.PolicyGroup, BuildInfo: maps.Clone(m.BuildInfo),
		ExtraConfig: maps.Clone(m.ExtraConfig), At: p.clock(),
	}
	s := open()
	p.registrations++
	s.registration = p.registrations
	p.now.Store(s)
	p.endSilent()
	return nil
}

// mayRegister says why an RM cannot register now.
func (p *Proxy) mayRegister(rm string) error {
	if err := checkRM(rm); err != nil {
		return err
	}
	if old := p.current(); old != nil && old.rm != rm {
		_, err := old.mayReplace()
		return err
	}
	return nil
}

func checkRM(rm string) error {
	if !utf8.ValidString(rm) || len(rm) > maxID || rm == "" {
		return fmt.Errorf("%w: %w", ErrRequest, checkID("rmID", rm))
	}
	return nil
}

// checkBuild reports that an RM says too much of itself.
func checkBuild(m *si.RegisterResourceManagerRequest) error {
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

// readText is Read or ReadFirst of a Reloader.
type readText func(source reload.Source, from string, text []byte) (*reload.Proposal, error)

// wanted reads the configuration that an RM sends. Without a text it is the embedded one
// (behaviour.md 1.1.2).
func (p *Proxy) wanted(rm, text string, extra map[string]string, read readText) (*reload.Proposal, error) {
	if err := reload.CheckExtra(extra); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	wish := &reload.Proposal{Source: reload.RM, From: rm}
	switch {
	case p.opt.Pinned && text != "":
		p.log.Info("the configuration of the resource manager is ignored: a file was given",
			zap.String("rm", rm))
	case p.opt.Pinned:
	case text == "":
		embedded := reload.Default()
		wish.Text, wish.Config, wish.Warnings = embedded.Text, embedded.Config, embedded.Warnings
	default:
		said, err := read(reload.RM, rm, []byte(text))
		if bad := new(reload.InvalidError); errors.As(err, &bad) {
			return nil, fmt.Errorf("%w:\n%s", ErrConfig, listed(bad.Problems))
		}
		if _, err := p.resolving(said.Config); err != nil {
			p.reloads.Refuse(reload.RM, rm, err)
			return nil, err
		}
		wish = said
	}
	wish.Extra, wish.HasExtra = extra, true
	return wish, nil
}

// listed is all problems as a text. An error of gRPC travels in a header, which peers
// take up to a size only.
func listed(problems configs.Problems) string {
	const longest = 64 << 10
	text := strings.ToValidUTF8(problems.Error(), "?")
	if len(text) <= longest {
		return text
	}
	end := strings.LastIndexByte(text[:longest], '\n') + 1
	return fmt.Sprintf("%s%d more problems", text[:end], strings.Count(text[end:], "\n")+1)
}

// startOver ends the old session, empties all partitions and puts in force what the RM
// wishes.
func (p *Proxy) startOver(old *session, wish *reload.Proposal) error {
	if old != nil {
		p.mu.Lock()
		p.now.Store(nil)
		p.mu.Unlock()
		cause := errReregistered
		if old.rm != wish.From {
			cause = errOtherRM
		}
		old.close(cause)
	}
	if p.isRemote {
		p.cluster.SetListening(false) // until it opens the stream on which decisions are told
	}
	p.mute()
	if err := p.cluster.Forget(p.over); err != nil {
		return p.stopped(err)
	}
	_, err := p.reloads.Enact(p.over, wish)
	return p.stopped(err)
}

// configure puts a new configuration in force for the RM that is registered.
func (p *Proxy) configure(m *si.UpdateConfigurationRequest) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if s := p.current(); s == nil || s.rm != m.GetRmID() {
		return fmt.Errorf("RM %s has no active partitions, make sure it is registered: %w",
			clip(m.GetRmID()), ErrNotRegistered)
	}
	wish, err := p.wanted(m.RmID, m.Config, m.ExtraConfig, p.reloads.Read)
	if err != nil {
		return err
	}
	if _, err := p.reloads.Enact(p.over, wish); err != nil {
		return p.stopped(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record.ExtraConfig = maps.Clone(m.ExtraConfig)
	return nil
}

// stopped tells an error of the partitions from their end.
func (p *Proxy) stopped(err error) error {
	if err != nil && p.over.Err() == context.Canceled {
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
