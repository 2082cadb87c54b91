package reload

import (
	"go.uber.org/zap"

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
	text, err := queuesyaml.KeepNamedObjects([]byte(next.Text), next.Config, inForce, r.opt.Bounds)
	if err != nil {
		r.opt.Log.Error("objects in force are lost: they do not fit into the text of the resource manager",
			zap.String("from", next.From), zap.Error(err))
	}
	if string(text) == next.Text {
		return // nothing to add
	}
	next.Text = string(text)
	next.Config, _ = queuesyaml.LoadWith(text, r.opt.Bounds) // valid: an edit is loaded before it is returned
	if next.Config.Checksum == current.Checksum {
		next.Config = nil
	}
}
