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
	autoscaling "k8s.io/api/autoscaling/v2"
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

// scaledObject has the fields of KEDA 2's ScaledObject that the manifest may use. KEDA's own Go types would
// bring its whole program along. Source: https://keda.sh/docs/latest/reference/scaledobject-spec.
type scaledObject struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int `json:"minReplicaCount"`
		MaxReplicaCount int `json:"maxReplicaCount"`
		Advanced        struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior autoscaling.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type              string        `json:"type"`
			Metadata          kafkaMetadata `json:"metadata"`
			AuthenticationRef *struct {
				Name string `json:"name"`
			} `json:"authenticationRef,omitempty"`
		} `json:"triggers"`
	} `json:"spec"`
}

// kafkaMetadata has the fields of KEDA's Kafka trigger. All values are strings.
// Source: https://keda.sh/docs/latest/scalers/apache-kafka.
type kafkaMetadata struct {
	BootstrapServers  string `json:"bootstrapServers"`
	ConsumerGroup     string `json:"consumerGroup"`
	Topic             string `json:"topic"`
	LagThreshold      string `json:"lagThreshold"`
	OffsetResetPolicy string `json:"offsetResetPolicy"`
	SASL              string `json:"sasl"`
	TLS               string `json:"tls"`
}

// triggerAuthentication has the fields of KEDA's TriggerAuthentication that the chart may use.
// Source: https://keda.sh/docs/latest/concepts/authentication.
type triggerAuthentication struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		SecretTargetRef []struct {
			Parameter string `json:"parameter"`
			Name      string `json:"name"`
			Key       string `json:"key"`
		} `json:"secretTargetRef"`
	} `json:"spec"`
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
	scaled         scaledObject
	authentication triggerAuthentication
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

// The pods of stories are those of the service but for their command, name and number, under the same settings.
func TestStoriesOnKubernetes(t *testing.T) {
	example, m := kustomize(t, "example"), kustomize(t, "stories")
	require.NotContains(t, m.kinds, "ScaledObject", "the lag of the service says nothing of stories")
	require.Equal(t, "echosieve-stories", m.deployment.Name)
	require.Equal(t, m.service.Labels, m.serviceMonitor.Spec.Selector.MatchLabels)
	require.Equal(t, example.settings.Data, m.settings.Data)
	requireStories(t, &example.deployment, m.deployment)
}

// requireStories requires that a Deployment of stories has the pods of the service with another command.
func requireStories(t *testing.T, service *apps.Deployment, stories apps.Deployment) {
	t.Helper()
	require.EqualValues(t, 1, *stories.Spec.Replicas)
	pod, other := &stories.Spec.Template.Spec, service.Spec.Template.Spec
	require.Equal(t, []string{"stories", "--config", "/etc/echosieve/echosieve.yaml"}, pod.Containers[0].Args)
	pod.Containers[0].Args = other.Containers[0].Args
	require.Equal(t, stories.Spec.Selector, pod.TopologySpreadConstraints[0].LabelSelector)
	pod.TopologySpreadConstraints[0].LabelSelector = other.TopologySpreadConstraints[0].LabelSelector
	pod.Volumes[0].ConfigMap, pod.ServiceAccountName = other.Volumes[0].ConfigMap, other.ServiceAccountName
	require.Equal(t, other, *pod)
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
	cfg, spec := m.config(t), m.scaled.Spec
	require.Nil(t, m.deployment.Spec.Replicas, "each apply would set KEDA's number back")
	require.Equal(t, m.deployment.Name, spec.ScaleTargetRef.Name)
	require.Equal(t, m.deployment.Namespace, m.scaled.Namespace)
	require.Equal(t, config.Default().Kafka.Partitions, spec.MaxReplicaCount, "more pods than partitions stay idle")
	require.Len(t, spec.Triggers, 1)
	require.Equal(t, "kafka", spec.Triggers[0].Type)
	trigger := spec.Triggers[0].Metadata
	require.Equal(t, strings.Join(cfg.Kafka.Brokers, ","), trigger.BootstrapServers)
	require.Equal(t, cfg.Kafka.Group, trigger.ConsumerGroup)
	require.Equal(t, cfg.Kafka.Topics.Inputs[0], trigger.Topic)
	require.Equal(t, "earliest", trigger.OffsetResetPolicy)
	lag, err := strconv.Atoi(trigger.LagThreshold)
	require.NoError(t, err)
	require.Positive(t, lag)
}
