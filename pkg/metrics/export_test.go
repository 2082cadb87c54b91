package metrics

// PatienceOf is for tests.
var PatienceOf = patienceOf
