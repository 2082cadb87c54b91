package canopy

import (
	"context"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

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

// loadFirst reads the first configuration, and opens the store of the history (CFG-94, CFG-118). Without a
// configuration the embedded default is the first; without a store the history is not stored. When ctx ends first it
// returns its error: a disk may hang. Then the store is closed once it is open.
func (o *Options) loadFirst(ctx context.Context, users *usergroup.Resolvers, term *serverTerm) (*reload.Proposal,
	configStore, error) {
	var first *reload.Proposal
	var store configStore
	var err error
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		first, store, err = o.readFirst(ctx, users, term)
	}()
	select {
	case <-loaded:
		return first, store, err
	case <-ctx.Done():
		go func() {
			<-loaded
			if store != nil {
				_ = store.Close() // there is no caller any more
			}
		}()
		return nil, nil, ctx.Err()
	}
}

// readFirst is loadFirst without a bound on time. The store may be open even after an error.
func (o *Options) readFirst(ctx context.Context, users *usergroup.Resolvers, term *serverTerm) (first *reload.Proposal,
	store configStore, err error) {
	if o.Config.exists() {
		if first, err = o.readConfig(); err != nil {
			return nil, nil, err
		}
	}
	field := "DataDir"
	switch {
	case term != nil && term.stores != nil:
		field = "HA.Etcd"
		store, err = term.stores.configs(ctx, term.Epoch())
	case o.DataDir != "":
		store, err = noTypedNil[configStore](reload.OpenDisk(o.DataDir))
	}
	if err != nil {
		return nil, nil, o.refused(field, err)
	}
	if first == nil && store != nil {
		if first, err = store.Latest(o.bounds()); err != nil {
			err = fmt.Errorf("%w\nStart with %s to use another configuration", err, o.optionName("Config.File"))
			return nil, store, o.refused(field, err)
		}
	}
	if first != nil {
		if _, missing := directoriesOf(users)(first.Config, nil); missing != nil {
			return nil, store, o.refused(o.firstSource(missing))
		}
	}
	return first, store, nil
}

// readConfig reads Config.
func (o *Options) readConfig() (*reload.Proposal, error) {
	text := []byte(o.Config.Text)
	if o.Config.File != "" {
		var err error
		if text, err = configwatch.Read(o.Config.File, o.bounds().MaxBytes); err != nil {
			return nil, o.invalid("Config.File", err)
		}
	}
	p, err := reload.Read(reload.File, o.Config.name(), text, o.bounds())
	return p, configError(o.Config.name(), err)
}

// CheckConfig checks the text of a queues.yaml, or of a ConfigMap with one, as Start checks Config.Text, without a
// Server. name says where the text is from and may be empty; limits that are zero are the default ones. It returns the
// warnings about a valid text.
//
// The error is a *ConfigError with all problems of the text, warnings included, or *OptionError values about limits,
// joined. Whether a running Server can apply the text (ErrRefused), and whether the settings of a directory of users
// can be read, is not checked.
func CheckConfig(name, text string, limits ConfigLimits) ([]Problem, error) {
	opt := &Options{Config: Config{Limits: limits}}
	if err := opt.check(nil); err != nil {
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
	case !o.Config.exists():
		return "DataDir", fmt.Errorf("the latest configuration in %s: %w", o.DataDir, err)
	case o.Config.name() == "":
		return o.Config.field(), err
	}
	return o.Config.field(), fmt.Errorf("%s: %w", o.Config.name(), err)
}
