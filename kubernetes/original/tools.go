//go:build tools

package original

// The program of the shim, and what its end-to-end suites import: "go mod tidy" keeps the modules of both. The tag is
// never set, because programs cannot be imported.

import (
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/ginkgo/v2/reporters"
	_ "github.com/onsi/gomega"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/api/resource"
	_ "k8s.io/client-go/kubernetes"

	_ "github.com/apache/yunikorn-core/pkg/common/configs"
	_ "github.com/apache/yunikorn-core/pkg/webservice/dao"
	_ "github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	_ "github.com/apache/yunikorn-k8shim/pkg/cmd/shim"
	_ "github.com/apache/yunikorn-k8shim/test/e2e"
	_ "github.com/apache/yunikorn-k8shim/test/e2e/framework/configmanager"
	_ "github.com/apache/yunikorn-k8shim/test/e2e/framework/helpers/common"
	_ "github.com/apache/yunikorn-k8shim/test/e2e/framework/helpers/k8s"
	_ "github.com/apache/yunikorn-k8shim/test/e2e/framework/helpers/yunikorn"
)
