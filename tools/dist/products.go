package main

// What is built, and for which machines.

// architectures lists the architectures of Linux for which everything is built, as Go and Debian name them.
var architectures = []string{"amd64", "arm64"}

// A product is a set of programs that is shipped together: as an archive, an image, and maybe a Debian package.
type product struct {
	name     string
	summary  string
	target   string         // of the Makefile, which builds the programs
	module   string         // directory of the module that is built
	programs []string       // as the target names them; the first is that of the image
	tests    []string       // packages whose tests leave man pages and completions (package commandtest)
	debian   *debianPackage // nil: there is none
	image    imageConfig
}

// debianPackage configures the Debian package of a product.
type debianPackage struct {
	folder            string // of the scripts of the package, in deploy/debian
	description       string // lines below the summary
	depends, suggests []string
	files             []installed // besides programs, completions, man pages and documents
}

// installed is a file of the repository in a Debian package.
type installed struct {
	source, to string
	edited     bool // by administrators: an upgrade keeps it
}

// imageConfig configures the image of a product as deploy/Dockerfile does.
type imageConfig struct {
	program string   // its path in the image, which is the entrypoint
	args    []string // the default arguments
	port    string   // of HTTP
}

var products = []product{
	{
		name: "canopy", summary: "hierarchical queue scheduler for clusters", target: "build", module: ".",
		programs: []string{"canopy", "canopy-lab"}, tests: []string{"./cmd/core", "./cmd/lab"},
		image: imageConfig{program: "/canopy", args: []string{"serve"}, port: "9080"},
		debian: &debianPackage{
			folder: ".",
			description: `Canopy selects the queue, the application and the task that are served
next, and the node on which the task is placed. It is compatible with the
scheduler interface and the queues.yaml of Apache YuniKorn. canopy-lab
measures and simulates it.`,
			depends:  []string{"systemd | systemd-standalone-sysusers | systemd-sysusers"},
			suggests: []string{"bash-completion", "prometheus"},
			files: []installed{
				{source: "deploy/debian/canopy.service", to: "/usr/lib/systemd/system/canopy.service"},
				{source: "deploy/debian/canopy.sysusers", to: "/usr/lib/sysusers.d/canopy.conf"},
				{source: "deploy/debian/canopy.default", to: "/etc/default/canopy", edited: true},
				{source: "examples/queues.yaml", to: "/etc/canopy/queues.yaml", edited: true},
			},
		},
	},
	{
		name: "canopy-shim-kubernetes", summary: "schedules the pods of a Kubernetes cluster with Canopy",
		target: "shim-kubernetes", module: "kubernetes/shim-grpc", programs: []string{"canopy-shim-kubernetes"},
		image: imageConfig{program: "/canopy-shim-kubernetes", port: "9090"},
		debian: &debianPackage{
			folder: "shim",
			description: `The shim is a client of a Kubernetes cluster and of a Canopy server: it
binds the pods that name canopy as their scheduler to the nodes that
Canopy selects. It may run on any machine that reaches both.`,
			suggests: []string{"canopy", "prometheus"},
			files: []installed{
				{source: "deploy/debian/shim/canopy-shim-kubernetes.service",
					to: "/usr/lib/systemd/system/canopy-shim-kubernetes.service"},
				{source: "deploy/debian/shim/canopy-shim-kubernetes.default",
					to: "/etc/default/canopy-shim-kubernetes", edited: true},
			},
		},
	},
	{
		name: "canopy-kubernetes", summary: "scheduler of Apache YuniKorn for Kubernetes with Canopy inside",
		target: "kubernetes", module: "kubernetes/shim", programs: []string{"canopy-kubernetes"},
		image: imageConfig{program: "/yunikorn-scheduler", port: "9080"},
	},
}

func productNames() (names []string) {
	for _, p := range products {
		names = append(names, p.name)
	}
	return names
}
