package reload

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// keepClassesAndBudgets adds the priority classes and the disruption budgets in force to a text of a
// resource manager that lacks the key priorityclasses or disruptionbudgets (CFG-96). Shims for
// YuniKorn do not know these keys, so a text without them is not meant to remove them.
func (r *Reloader) keepClassesAndBudgets(next *Proposal, current *Generation) {
	inForce := r.cluster.Config()
	if next.Source != RM || next.Config == nil || inForce == nil {
		return
	}
	sent := next.Config
	if !sent.HasClasses {
		r.keepList(next, "priority classes", func(text []byte) ([]byte, error) {
			return queuesyaml.EditClasses(text, inForce.Classes, r.opt.Bounds)
		})
	}
	if !sent.HasBudgets {
		r.keepList(next, "disruption budgets", func(text []byte) ([]byte, error) {
			return queuesyaml.EditBudgets(text, inForce.Budgets, r.opt.Bounds)
		})
	}
	if next.Config != sent && next.Config.Checksum == current.Checksum {
		next.Config = nil
	}
}

// keepList writes objects in force into the text of next.
func (r *Reloader) keepList(next *Proposal, what string, edit func([]byte) ([]byte, error)) {
	text, err := edit([]byte(next.Text))
	if err == nil && string(text) == next.Text {
		return // nothing to add
	}
	conf, _ := queuesyaml.LoadWith(text, r.opt.Bounds)
	if err != nil || conf == nil {
		r.opt.Log.Error("objects in force are lost: they do not fit into the text of the resource manager",
			zap.String("objects", what), zap.String("from", next.From), zap.Error(err))
		return
	}
	next.Text, next.Config = string(text), conf
}
