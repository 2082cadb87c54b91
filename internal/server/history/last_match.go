package history

import "github.com/canopy-scheduler/canopy/pkg/events"

// Last returns the newest record that matches; ok is false if none that is kept does, or history is switched off.
func (h *History) Last(match func(*events.Record) bool) (r events.Record, ok bool) {
	found := h.Newest(1, match)
	if len(found) == 0 {
		return r, false
	}
	return found[0], true
}

// Newest returns up to count records that match, the newest first; none if history is switched off. It reads page by
// page, and records may be added in between.
func (h *History) Newest(count int, match func(*events.Record) bool) (found []events.Record) {
	h.mu.Lock()
	end := h.ring.Next()
	h.mu.Unlock()
	for {
		page := h.pageBefore(&end)
		if page == nil {
			return found
		}
		for r := range page.Backward() {
			if !match(r) {
				continue
			}
			found = append(found, *r)
			if len(found) == count {
				return found
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
