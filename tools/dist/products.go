package main

// What is built, and for which machines.

// architectures lists the architectures of Linux for which everything is built, as Go and Debian name them.
var architectures = []string{"amd64", "arm64"}

// A product is a set of programs that is shipped together: as an archive, an image, and maybe a Debian package.
type product struct {
	name     string
	summary  string
	target   string   // of the Makefile, which builds the programs
	module   string   // directory of the module that is built
	programs []string // as the target names them; the first is that of the image
	tests    []string // packages whose tests leave man pages and completions (package commandtest)
	debian   bool
	image    imageConfig
}

// imageConfig configures the image of a product as deploy/Dockerfile does.
type imageConfig struct {
	program string   // its path in the image, which is the entrypoint
	args    []string // the default arguments
}

var products = []product{
	{
		name: "canopy", summary: "hierarchical queue scheduler for clusters", target: "build", module: ".",
		programs: []string{"canopy", "canopy-lab"}, tests: []string{"./cmd/core", "./cmd/lab"}, debian: true,
		image: imageConfig{program: "/canopy", args: []string{"serve"}},
	},
	{
		name: "canopy-kubernetes", summary: "scheduler of Apache YuniKorn for Kubernetes with Canopy inside",
		target: "kubernetes", module: "kubernetes/shim", programs: []string{"canopy-kubernetes"},
		image: imageConfig{program: "/yunikorn-scheduler"},
	},
}

func productNames() (names []string) {
	for _, p := range products {
		names = append(names, p.name)
	}
	return names
}
