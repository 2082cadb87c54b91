package reload

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// keepClassesAndBudgets has the text of a resource manager that does not speak of priority classes, or of
// disruption budgets, keep those in force: shims know queues.yaml as it is elsewhere, and what
// they do not know of they do not want to remove.
func (r *Reloader) keepClassesAndBudgets(next *Proposal, current *Generation) {
	if next.Source != RM || next.Config == nil || r.conf == nil {
		return
	}
	sent := next.Config
	if !sent.HasClasses {
		r.keepList(next, "priority classes", func(text []byte) ([]byte, error) {
			return configs.EditClasses(text, r.conf.Classes, r.opt.Bounds)
		})
	}
	if !sent.HasBudgets {
		r.keepList(next, "disruption budgets", func(text []byte) ([]byte, error) {
			return configs.EditBudgets(text, r.conf.Budgets, r.opt.Bounds)
		})
	}
	if next.Config != sent && next.Config.Checksum == current.Checksum {
		next.Config = nil
	}
}

// keepList puts something that is in force into a text.
func (r *Reloader) keepList(next *Proposal, what string, edit func([]byte) ([]byte, error)) {
	text, err := edit([]byte(next.Text))
	if err == nil && string(text) == next.Text {
		return // it is there
	}
	conf, _ := configs.LoadWith(text, r.opt.Bounds)
	if err != nil || conf == nil {
		r.opt.Log.Error("objects in force are lost: they do not fit into the text of the resource manager",
			zap.String("objects", what), zap.String("from", next.From), zap.Error(err))
		return
	}
	next.Text, next.Config = string(text), conf
}
