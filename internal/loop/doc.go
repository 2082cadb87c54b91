// Package loop owns the one goroutine that may touch a scheduler.Core. Everything
// concurrent in this program meets here: commands wait in a mailbox, time is read in
// one place, effects go out to a Sink in order.
//
// All commands that wait are taken at once; then the Core decides, up to a stride of
// decisions at a time. Effects are delivered beside the loop, so a slow Sink delays
// decisions, never news. What effects mean and who gets them is not known here.
//
// Tell before you ask: a resource manager that answers "does it fit?" from its own
// cache must have heard about every earlier placement first. With SyncDelivery the loop
// itself delivers each decision, and does nothing else meanwhile (ADR 16).
//
// The rule that must hold: nobody but Run's goroutine touches the Core.
package loop
