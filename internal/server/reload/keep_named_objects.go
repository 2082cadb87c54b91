package reload

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// keepNamedObjects adds the named objects in force, such as priority classes, to a text of a resource manager that
// lacks their list (CFG-96). Shims for YuniKorn do not know these lists, so a text without one is not meant to remove
// its objects.
func (r *Reloader) keepNamedObjects(next *Proposal, current *Generation) {
	inForce := r.cluster.Config()
	if next.Source != RM || next.Config == nil || inForce == nil {
		return
	}
	sent := next.Config
	for _, l := range queuesyaml.NamedLists() {
		if !l.IsListed(sent) {
			r.keepList(next, l, inForce)
		}
	}
	if next.Config != sent && next.Config.Checksum == current.Checksum {
		next.Config = nil
	}
}

// keepList writes objects in force into the text of next.
func (r *Reloader) keepList(next *Proposal, l queuesyaml.AnyNamedList, inForce *configs.Config) {
	text, err := l.Keep([]byte(next.Text), inForce, r.opt.Bounds)
	if err == nil && string(text) == next.Text {
		return // nothing to add
	}
	conf, _ := queuesyaml.LoadWith(text, r.opt.Bounds)
	if err != nil || conf == nil {
		r.opt.Log.Error("objects in force are lost: they do not fit into the text of the resource manager",
			zap.String("objects", l.Plural()), zap.String("from", next.From), zap.Error(err))
		return
	}
	next.Text, next.Config = string(text), conf
}
