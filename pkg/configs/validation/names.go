package validation

// Hints at the operators of class selectors, and at the legal names of queues (CFG-36), users and groups (CFG-38).
const (
	OperatorHint  = "it is In, NotIn, Exists or DoesNotExist"
	QueueNameHint = "1 to 64 letters, digits or any of _ : # / @ -"
	UserNameHint  = "a letter or _, then letters, digits or any of : # / _ . @ -, and perhaps a last $"
	GroupNameHint = "a letter or _, then letters, digits or any of : _ . -"
)
