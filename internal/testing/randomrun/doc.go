// Package randomrun generates random runs: a configuration, and commands with the times at which they are applied, as
// data that follows from a seed. A failing run can be printed and made shorter.
//
// It knows neither a core nor the twin. Package twin executes runs on both and compares them. The rule: most commands
// of a run are about objects that exist, and every behaviour occurs in some run.
package randomrun
