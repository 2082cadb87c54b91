package main

import (
	"debug/buildinfo"
	"path"
	"runtime/debug"
	"strings"
)

// ourModule is the module in the root of the repository. Those nested in it are named after their directories.
const ourModule = "github.com/canopy-scheduler/canopy"

// A module is a Go module that a program contains.
type module struct {
	path, version string
	sum           string // as go.sum has it; empty for what was not downloaded
}

// contents returns the modules in a program that was built in the directory in of the repository: what the program is,
// and what it contains besides. What is of this repository has the given version and its own name, also where it stands
// in for a module of somebody else, whose flaws it does not have.
func contents(program, in, version string) (itself module, others []module, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return module{}, nil, err
	}
	itself, others = modulesOf(info, in, version)
	return itself, others, nil
}

func modulesOf(info *debug.BuildInfo, in, version string) (itself module, others []module) {
	itself = module{path: path.Join(ourModule, in), version: version}
	others = []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}}
	if info.Main.Sum != "" { // the package main is of a module that was downloaded
		others = append(others, module{info.Main.Path, info.Main.Version, info.Main.Sum})
	}
	for _, m := range info.Deps {
		switch by := m.Replace; {
		case by == nil:
			others = append(others, module{m.Path, m.Version, m.Sum})
		case strings.HasPrefix(by.Path, "."):
			others = append(others, module{path: path.Join(ourModule, in, by.Path), version: version})
		default:
			others = append(others, module{by.Path, by.Version, by.Sum})
		}
	}
	return itself, others
}
