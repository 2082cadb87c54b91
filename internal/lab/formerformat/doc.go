// Package formerformat reads recordings in the formats before that of package recording, versions 1 and 2, and writes
// them in that of package recording (REC-14).
//
// It leaves all else to package recording: no server imports it, and nothing writes these formats any more.
//
// The rule that must hold: a converted session makes the same effects, compared with the same digests. What cannot be
// converted, because what came before it is missing, is an error that says how many steps these are.
package formerformat
