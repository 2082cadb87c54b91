// Package ageing raises, in selection order, applications that wait for their first allocation (priority.ageing).
//
// It owns since when each application waits and when it rises next. It leaves the order to package objects, which an
// application enters with what it was raised by, and the rules of priorities to package policies.
//
// The rule: a raised application counts for more in selection order and nowhere else.
package ageing
