package deploy_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/go-units"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"echosieve/app/config"
	"echosieve/test/host"
)

// object is a KEDA object: its own Go types would bring its whole program along.
type object map[string]any

// at is the member of an object that a path leads to: names, and numbers of elements.
func (o object) at(path string) any {
	var v any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[name]
		case []any:
			i, _ := strconv.Atoi(name)
			v = parent[i]
		}
	}
	return v
}

// manifests holds the objects that kustomize makes of one directory, or Helm of the chart.
type manifests struct {
	kinds          []string
	deployment     apps.Deployment
	service        core.Service
	account        core.ServiceAccount
	settings       core.ConfigMap
	budget         policy.PodDisruptionBudget
	network        networking.NetworkPolicy
	refillNetwork  networking.NetworkPolicy
	serviceMonitor monitoring.ServiceMonitor
	scaled         object
	authentication object
	boards         core.ConfigMap
	rules          monitoring.PrometheusRule
	refill         batch.Job
	stories        *manifests // of the role of stories, in the chart
}

// decode decodes one object. An unknown or misspelt field is an error.
func (m *manifests) decode(kind string, data []byte) error {
	into, known := map[string]any{
		"Deployment": &m.deployment, "Service": &m.service, "ServiceAccount": &m.account, "ConfigMap": &m.settings,
		"PodDisruptionBudget": &m.budget, "NetworkPolicy": &m.network, "ServiceMonitor": &m.serviceMonitor,
		"ScaledObject":          &m.scaled,
		"TriggerAuthentication": &m.authentication, "Dashboards": &m.boards, "PrometheusRule": &m.rules,
		"Job": &m.refill, "NetworkPolicyOfRefill": &m.refillNetwork,
	}[kind]
	if !known {
		return fmt.Errorf("unknown kind %s", kind)
	}
	m.kinds = append(m.kinds, kind)
	strict, err := strictjson.UnmarshalStrict(data, into)
	if err == nil && len(strict) > 0 {
		err = fmt.Errorf("%s: %w", kind, strict[0])
	}
	return err
}

// kustomize builds a directory below deploy/k8s, as `kubectl apply -k` does.
func kustomize(t *testing.T, dir string) *manifests {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		filepath.Join(host.Root(t), "deploy/k8s", dir))
	require.NoError(t, err)
	m := new(manifests)
	for _, r := range built.Resources() {
		data, err := r.MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, m.decode(r.GetKind(), data))
	}
	return m
}

// config loads the settings of the ConfigMap as the service does.
func (m *manifests) config(t *testing.T) config.Config {
	t.Helper()
	require.Len(t, m.settings.Data, 1)
	file := filepath.Join(t.TempDir(), "echosieve.yaml")
	require.NoError(t, os.WriteFile(file, []byte(m.settings.Data["echosieve.yaml"]), 0o600))
	return load(t, file)
}

// load loads the settings of a file as the service does.
func load(t *testing.T, file string) config.Config {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	require.NoError(t, flags.Parse([]string{"--config", file}))
	cfg, err := config.Load(flags)
	require.NoError(t, err)
	return cfg
}

func TestKustomizations(t *testing.T) {
	base := []string{"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
	require.ElementsMatch(t, base, kustomize(t, "base").kinds)
	require.ElementsMatch(t, append(base, "ServiceMonitor", "ScaledObject"), kustomize(t, "example").kinds)
}

func forEach(t *testing.T, test func(t *testing.T, m *manifests)) {
	for _, dir := range []string{"base", "example", "stories"} {
		t.Run(dir, func(t *testing.T) { test(t, kustomize(t, dir)) })
	}
}

func TestPods(t *testing.T) {
	forEach(t, func(t *testing.T, m *manifests) {
		pod, cfg := m.deployment.Spec.Template.Spec, m.config(t)
		require.Len(t, pod.Containers, 1)
		c := pod.Containers[0]

		_, listen, err := net.SplitHostPort(cfg.HTTP.Listen)
		require.NoError(t, err)
		_, usual, err := net.SplitHostPort(config.Default().HTTP.Listen)
		require.NoError(t, err)
		require.Equal(t, usual, listen)
		require.Len(t, c.Ports, 1)
		require.Equal(t, listen, strconv.Itoa(int(c.Ports[0].ContainerPort)))
		for probe, path := range map[*core.Probe]string{c.StartupProbe: "/healthz", c.LivenessProbe: "/healthz",
			c.ReadinessProbe: "/readyz"} {
			require.Equal(t, path, probe.HTTPGet.Path)
			require.Equal(t, c.Ports[0].Name, probe.HTTPGet.Port.String())
		}

		// consumer: Run returns within the drain timeout and one request (15 s). The HTTP server takes 2 s more.
		require.Greater(t, *pod.TerminationGracePeriodSeconds, int64(cfg.Kafka.DrainTimeout.Seconds())+15+2)
		require.False(t, *pod.EnableServiceLinks, "the service refuses ECHOSIEVE_PORT")

		require.Contains(t, [][]string{{"run", "--config", "/etc/echosieve/echosieve.yaml"},
			{"stories", "--config", "/etc/echosieve/echosieve.yaml"}}, c.Args)
		require.Equal(t, "/etc/echosieve", c.VolumeMounts[0].MountPath)
		require.Equal(t, m.settings.Name, pod.Volumes[0].ConfigMap.Name, "the name with the hash of the settings")
		require.Equal(t, m.account.Name, pod.ServiceAccountName)
	})
}

func TestPodsHaveNoRights(t *testing.T) {
	forEach(t, func(t *testing.T, m *manifests) {
		pod := m.deployment.Spec.Template.Spec
		require.True(t, *pod.SecurityContext.RunAsNonRoot)
		require.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
		user := fmt.Sprintf("%d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup)
		require.Contains(t, host.Read(t, "deploy/Dockerfile"), "\nUSER "+user+"\n")
		c := pod.Containers[0].SecurityContext
		require.False(t, *c.AllowPrivilegeEscalation)
		require.True(t, *c.ReadOnlyRootFilesystem)
		require.Equal(t, []core.Capability{"ALL"}, c.Capabilities.Drop)
		require.Empty(t, c.Capabilities.Add)
		require.False(t, *pod.AutomountServiceAccountToken)
		require.False(t, *m.account.AutomountServiceAccountToken)
	})
}

// Memory under load with short articles (docs/benchmarks.md), eight times the largest record, and the fetched
// data twice, because Go's heap may double (docs/operations.md, Sizing).
func TestPodsHaveEnoughMemory(t *testing.T) {
	forEach(t, func(t *testing.T, m *manifests) {
		c, cfg := m.deployment.Spec.Template.Spec.Containers[0], m.config(t)
		require.Equal(t, "GOMEMLIMIT", c.Env[0].Name)
		goLimit, err := units.RAMInBytes(c.Env[0].Value)
		require.NoError(t, err)
		require.GreaterOrEqual(t, goLimit, int64(140<<20+8*cfg.Kafka.MaxMessageBytes+2*cfg.Kafka.MaxInFlightBytes))
		require.Less(t, goLimit, c.Resources.Limits.Memory().Value())
		require.LessOrEqual(t, c.Resources.Requests.Memory().Value(), c.Resources.Limits.Memory().Value())
	})
}

func TestSelectorsFindThePods(t *testing.T) {
	forEach(t, func(t *testing.T, m *manifests) {
		pod := labels.Set(m.deployment.Spec.Template.Labels)
		require.NotEmpty(t, pod)
		constraint := m.deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector
		for _, selector := range []*meta.LabelSelector{m.deployment.Spec.Selector, m.budget.Spec.Selector,
			&m.network.Spec.PodSelector, constraint} {
			found, err := meta.LabelSelectorAsSelector(selector)
			require.NoError(t, err)
			require.False(t, found.Empty(), "it selects all pods of the namespace")
			require.True(t, found.Matches(pod))
		}
		require.NotEmpty(t, m.service.Spec.Selector)
		require.True(t, labels.SelectorFromSet(m.service.Spec.Selector).Matches(pod))
		require.Equal(t, m.deployment.Name, m.service.Name,
			"Prometheus makes it the label job, which alerts and boards select")
	})
}

func TestNetworkPolicyLetsTheServiceWork(t *testing.T) {
	forEach(t, func(t *testing.T, m *manifests) {
		require.ElementsMatch(t, []networking.PolicyType{networking.PolicyTypeIngress, networking.PolicyTypeEgress},
			m.network.Spec.PolicyTypes)
		var open []string
		for _, rule := range m.network.Spec.Egress {
			for _, port := range rule.Ports {
				open = append(open, port.Port.String())
			}
		}
		cfg := m.config(t)
		for _, addr := range append(cfg.Kafka.Brokers, cfg.Redis.Addrs...) {
			_, port, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			require.Contains(t, open, port)
		}
		require.Contains(t, open, "53")
		require.Len(t, m.network.Spec.Ingress, 1)
		in := m.network.Spec.Ingress[0]
		require.NotEmpty(t, in.From, "open to every pod")
		require.Len(t, in.Ports, 1)
		require.Equal(t, m.deployment.Spec.Template.Spec.Containers[0].Ports[0].Name, in.Ports[0].Port.String())
	})
}

func TestServiceMonitorFindsTheService(t *testing.T) {
	m := kustomize(t, "example")
	require.True(t, labels.SelectorFromSet(m.serviceMonitor.Spec.Selector.MatchLabels).Matches(
		labels.Set(m.service.Labels)))
	require.Equal(t, m.service.Namespace, m.serviceMonitor.Namespace)
	require.Len(t, m.serviceMonitor.Spec.Endpoints, 1)
	require.Equal(t, m.service.Spec.Ports[0].Name, m.serviceMonitor.Spec.Endpoints[0].Port)
	require.Equal(t, "/metrics", m.serviceMonitor.Spec.Endpoints[0].Path)
}

// KEDA scales this Deployment by the lag of this group on this topic.
func TestScaledObjectFitsTheSettings(t *testing.T) {
	m := kustomize(t, "example")
	cfg := m.config(t)
	require.Nil(t, m.deployment.Spec.Replicas, "each apply would set KEDA's number back")
	for path, want := range map[string]any{
		"metadata.namespace":                         m.deployment.Namespace,
		"spec.scaleTargetRef.name":                   m.deployment.Name,
		"spec.maxReplicaCount":                       int64(config.Default().Kafka.Partitions), // more stay idle
		"spec.triggers.0.type":                       "kafka",
		"spec.triggers.0.metadata.bootstrapServers":  strings.Join(cfg.Kafka.Brokers, ","),
		"spec.triggers.0.metadata.consumerGroup":     cfg.Kafka.Group,
		"spec.triggers.0.metadata.topic":             cfg.Kafka.Topics.Inputs[0],
		"spec.triggers.0.metadata.offsetResetPolicy": "earliest",
	} {
		require.Equal(t, want, m.scaled.at(path), path)
	}
	require.Len(t, m.scaled.at("spec.triggers"), 1)
	require.Regexp(t, `^[1-9]\d*$`, m.scaled.at("spec.triggers.0.metadata.lagThreshold"))
}
