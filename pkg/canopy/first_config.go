package canopy

import (
	"context"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// firstConfig is what a Server starts with.
type firstConfig struct {
	proposal *reload.Proposal // nil: the embedded default
	store    configStore      // keeps the history; nil: it is not stored
}

// configStore keeps the history of configurations, in DataDir or for the members of a group.
type configStore interface {
	reload.Store
	// StoredState is the content when the store was opened.
	StoredState() reload.StoredState
	// Latest is the latest configuration of the history; nil: there is none.
	Latest(bounds queuesyaml.Options) (*reload.Proposal, error)
	// Close ends the use of the store.
	Close() error
}

// close closes the store.
func (f *firstConfig) close() error {
	if f.store == nil {
		return nil
	}
	return f.store.Close()
}

// loadFirst reads the first configuration and opens the store (CFG-94, CFG-118). When ctx ends first it
// returns its error: a disk may hang. Then the store is closed once it is open.
func (o *Options) loadFirst(ctx context.Context, users *usergroup.Resolvers, term *serverTerm) (*firstConfig, error) {
	type result struct {
		first *firstConfig
		err   error
	}
	loaded := make(chan result, 1)
	go func() {
		first, err := o.readFirst(ctx, users, term)
		loaded <- result{first, err}
	}()
	select {
	case r := <-loaded:
		return r.first, r.err
	case <-ctx.Done():
		go func() {
			if r := <-loaded; r.err == nil {
				_ = r.first.close() // there is no caller any more
			}
		}()
		return nil, ctx.Err()
	}
}

// readFirst is loadFirst without a bound on time.
func (o *Options) readFirst(ctx context.Context, users *usergroup.Resolvers, term *serverTerm) (first *firstConfig,
	err error) {
	first = &firstConfig{}
	if o.hasConfig() {
		if first.proposal, err = o.readConfig(); err != nil {
			return nil, err
		}
	}
	switch {
	case term != nil && term.stores != nil:
		err = o.openStore(first, "HA.Etcd", func() (configStore, error) { return term.stores.configs(ctx, term.Epoch()) })
	case o.DataDir != "":
		err = o.openStore(first, "DataDir", func() (configStore, error) { return reload.OpenDisk(o.DataDir) })
	}
	if err != nil {
		return nil, err
	}
	if first.proposal == nil {
		return first, nil
	}
	if _, missing := directoriesOf(users)(first.proposal.Config, nil); missing != nil {
		return nil, errors.Join(o.refused(o.firstSource(missing)), first.close())
	}
	return first, nil
}

// openStore opens the store, and takes the first configuration from it if there is no other. field is the option that
// names it.
func (o *Options) openStore(first *firstConfig, field string, open func() (configStore, error)) error {
	store, err := open()
	if err != nil {
		return o.refused(field, err)
	}
	first.store = store
	if first.proposal != nil {
		return nil
	}
	if first.proposal, err = store.Latest(o.bounds()); err != nil {
		err = fmt.Errorf("%w\nStart with %s to use another configuration", err, o.optionName("ConfigFile"))
		return errors.Join(o.refused(field, err), first.close())
	}
	return nil
}

// readConfig reads Config or ConfigFile.
func (o *Options) readConfig() (*reload.Proposal, error) {
	text := []byte(o.Config)
	if o.ConfigFile != "" {
		var err error
		if text, err = configwatch.Read(o.ConfigFile, o.bounds().MaxBytes); err != nil {
			return nil, o.invalid("ConfigFile", err)
		}
	}
	p, err := reload.Read(reload.File, o.configName(), text, o.bounds())
	return p, configError(o.configName(), err)
}

// CheckConfig checks the text of a queues.yaml, or of a ConfigMap with one, as Start checks Options.Config, without a
// Server. name says where the text is from and may be empty; limits that are zero are the default ones. It returns the
// warnings about a valid text.
//
// The error is a *ConfigError with all problems of the text, warnings included, or *OptionError values about limits,
// joined. Whether a running Server can apply the text (ErrRefused), and whether the settings of a directory of users
// can be read, is not checked.
func CheckConfig(name, text string, limits ConfigLimits) ([]Problem, error) {
	opt := &Options{ConfigLimits: limits}
	if err := opt.check(); err != nil {
		return nil, err
	}
	p, err := reload.Read(reload.Program, name, []byte(text), opt.bounds())
	if err != nil {
		return nil, configError(name, err)
	}
	return problemsOf(p.Warnings), nil
}

// firstSource is the option from which the first configuration is, and err with the name of its source.
func (o *Options) firstSource(err error) (field string, named error) {
	switch {
	case !o.hasConfig():
		return "DataDir", fmt.Errorf("the latest configuration in %s: %w", o.DataDir, err)
	case o.configName() == "":
		return o.configField(), err
	}
	return o.configField(), fmt.Errorf("%s: %w", o.configName(), err)
}
