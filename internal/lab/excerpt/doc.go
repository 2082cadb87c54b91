// Package excerpt makes a test of an incident: the steps of a recording up to an effect, as few of them as still lead
// to it, in a text with what the scheduler answers, which can be replayed.
//
// It owns the text and how steps are left out. How steps are made is that of package playback, what commands are that
// of package recording.
//
// The rule that must hold: what an Excerpt says as text is what a scheduler makes of its steps; a shorter one has the
// same last effect.
package excerpt
