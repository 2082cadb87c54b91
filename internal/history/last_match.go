package history

import "github.com/canopy-scheduler/canopy/pkg/events"

// Last returns the newest record that matches; ok is false if none that is kept does, or history is
// switched off. It reads page by page, the newest first, and records may be added in between.
func (h *History) Last(match func(*events.Record) bool) (r events.Record, ok bool) {
	h.mu.Lock()
	end := h.ring.Next()
	h.mu.Unlock()
	for {
		page := h.pageBefore(&end)
		if page == nil {
			return r, false
		}
		for found := range page.Backward() {
			if match(found) {
				return *found, true
			}
		}
	}
}

// pageBefore returns the records before an ID, at most pageRecords, and moves the ID to the first of them.
func (h *History) pageBefore(end *uint64) events.Records {
	h.mu.Lock()
	defer h.mu.Unlock()
	lowest := h.ring.Lowest()
	if h.settings.Disabled || *end <= lowest {
		return nil
	}
	first := max(lowest, *end-min(*end, pageRecords))
	page := h.ring.From(first, int(*end-first))
	*end = first
	return page
}
