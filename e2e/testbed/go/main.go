// The programs of the test bed in one file: it acts as the program by whose name it is called.
//
// The programs share most of their packages, and linking each of them takes seconds, so one file is
// built in less time than eight. CoreDNS has only the plugins that the test bed's Corefile names.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata"

	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "coredns":
		coremain.Run()
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllers.NewControllerManagerCommand())
	case "kube-proxy":
		run(proxy.NewProxyCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kubectl":
		util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	case "kubelet":
		run(kubelet.NewKubeletCommand(context.Background()))
	default:
		fmt.Fprintf(os.Stderr, "%s is not the name of a program of the test bed: see go/main.go\n", name)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}
