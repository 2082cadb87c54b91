package recording

// Flush has what waits written now.
func (r *Recorder) Flush() { r.flush() }
