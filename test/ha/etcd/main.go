// Command etcd is the server of etcd, from its own modules: the tests of this module build and start it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
