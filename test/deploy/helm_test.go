package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	core "k8s.io/api/core/v1"

	"echosieve/app/config"
	"echosieve/test/host"
)

// everyValue switches everything on that the chart can make.
const everyValue = `
image: {repository: registry.example/echosieve, tag: "1.0"}
settings:
  kafka: {brokers: [kafka.kafka.svc:9092], group: echosieve, topics: {input: articles}}
  redis: {addrs: [redis.redis.svc:6379], namespace: echosieve}
fileSecrets: {web: /etc/echosieve-web}
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true, runbook: "https://wiki.example/runbook"}
dashboards: {enabled: true}
keda:
  enabled: true
  metadata: {sasl: scram_sha512, tls: enable}
  secretTargetRef: [{parameter: password, name: kafka, key: password}]
refill: {enabled: true, args: [--from, input]}
stories: {enabled: true, args: [--trusted, Post]}
`

// helm renders the chart with Helm itself, and decodes the objects strictly. The go.mod of the service does not name
// Helm, which brings Kubernetes' client along.
func helm(t *testing.T, values string) *manifests {
	t.Helper()
	cmd := helmTemplate(t, values)
	text, err := cmd.Output()
	require.NoError(t, err, "%s", cmd.Stderr)
	m := &manifests{stories: new(manifests)}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var object map[string]any
		if decoder.Decode(&object) != nil {
			break
		}
		if object == nil {
			continue
		}
		data, err := json.Marshal(object)
		require.NoError(t, err)
		kind, into := object["kind"].(string), m
		switch name := object["metadata"].(map[string]any)["name"].(string); {
		case kind == "ConfigMap" && strings.HasSuffix(name, "-dashboards"):
			kind = "Dashboards"
		case kind == "NetworkPolicy" && strings.Contains(name, "-refill"):
			kind = "NetworkPolicyOfRefill"
		case strings.HasSuffix(name, "-stories"):
			into = m.stories
		}
		require.NoError(t, into.decode(kind, data), "%s", data)
	}
	return m
}

// helmTemplate is the command that renders the chart.
func helmTemplate(t *testing.T, values string) *exec.Cmd {
	t.Helper()
	host.All(t) // compiles Helm
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "run", "helm.sh/helm/v3/cmd/helm@v3.18.6", "template", "echosieve",
		"deploy/helm", "--namespace", "echosieve", "--kube-version", "1.30", "--values", file)
	cmd.Dir, cmd.Stderr = host.Root(t), new(bytes.Buffer)
	return cmd
}

// Values that would leave the pods without their servers are refused.
func TestHelmRefusesMistakes(t *testing.T) {
	cmd := helmTemplate(t, "settings: {kafka: {brokers: [broker:9093]}}")
	require.Error(t, cmd.Run())
	require.Contains(t, cmd.Stderr.(*bytes.Buffer).String(), "networkPolicy.ports lacks 9093, the port of broker:9093")
}

// What a cluster wants of all pods is in those of the service, of stories and of the Job.
func TestHelmPods(t *testing.T) {
	chart := helm(t, `
nodeSelector: {disk: ssd}
tolerations: [{key: news, operator: Exists}]
affinity: {nodeAffinity: {}}
topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
priorityClassName: high
podLabels: {team: news}
podAnnotations: {sidecar: "no"}
extraEnv: [{name: TZ, value: UTC}]
extraVolumes: [{name: more, emptyDir: {}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
serviceAccount: {annotations: {role: reader}, labels: {team: news}}
stories: {enabled: true}
refill: {enabled: true}
`)
	for name, pod := range map[string]core.PodTemplateSpec{"echosieve": chart.deployment.Spec.Template,
		"echosieve-stories": chart.stories.deployment.Spec.Template, "echosieve-refill": chart.refill.Spec.Template} {
		require.Equal(t, map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "echosieve",
			"team": "news"}, pod.Labels)
		require.Equal(t, map[string]string{"sidecar": "no"}, pod.Annotations)
		require.Equal(t, map[string]string{"disk": "ssd"}, pod.Spec.NodeSelector)
		require.Equal(t, "news", pod.Spec.Tolerations[0].Key)
		require.NotNil(t, pod.Spec.Affinity.NodeAffinity)
		require.Equal(t, "high", pod.Spec.PriorityClassName)
		require.Equal(t, "more", pod.Spec.Volumes[1].Name)
		require.Equal(t, "/more", pod.Spec.Containers[0].VolumeMounts[1].MountPath)
		require.Equal(t, core.EnvVar{Name: "TZ", Value: "UTC"}, pod.Spec.Containers[0].Env[1])
		for _, spread := range pod.Spec.TopologySpreadConstraints {
			require.Equal(t, int32(2), spread.MaxSkew)
			require.Equal(t, map[string]string{"app.kubernetes.io/name": name}, spread.LabelSelector.MatchLabels)
		}
	}
	require.Equal(t, "reader", chart.account.Annotations["role"])
	require.Equal(t, "news", chart.account.Labels["team"])
}

// requireSame requires that two sets of objects do the same. The names of settings may differ.
func requireSame(t *testing.T, expected, actual *manifests) {
	t.Helper()
	expected.deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Name = ""
	actual.deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Name = ""
	for _, labels := range []map[string]string{actual.deployment.Labels, actual.deployment.Spec.Template.Labels} {
		require.Equal(t, "echosieve", labels["app.kubernetes.io/instance"])
		delete(labels, "app.kubernetes.io/instance")
	}
	require.Equal(t, expected.deployment.Spec, actual.deployment.Spec)
	require.Equal(t, expected.deployment.Labels, actual.deployment.Labels)
	require.Equal(t, expected.service.Spec, actual.service.Spec)
	require.Equal(t, expected.service.Name, actual.service.Name)
	require.Equal(t, expected.budget.Spec, actual.budget.Spec)
	require.Equal(t, expected.network.Spec, actual.network.Spec)
	require.Equal(t, expected.account.AutomountServiceAccountToken, actual.account.AutomountServiceAccountToken)
	require.Equal(t, expected.account.Name, actual.account.Name)
	one, other := expected.config(t), actual.config(t)
	require.Equal(t, one, other)
}

// The chart's defaults are what kustomize makes of the base.
func TestHelmDefaults(t *testing.T) {
	base, chart := kustomize(t, "base"), helm(t, "image: {repository: echosieve, tag: v}\npullSecrets: []\n")
	require.ElementsMatch(t, base.kinds, chart.kinds)
	require.Empty(t, chart.stories.kinds)
	require.Equal(t, "echosieve:v", chart.deployment.Spec.Template.Spec.Containers[0].Image)
	chart.deployment.Spec.Template.Spec.Containers[0].Image = base.deployment.Spec.Template.Spec.Containers[0].Image
	chart.deployment.Spec.Template.Spec.Containers[0].ImagePullPolicy =
		base.deployment.Spec.Template.Spec.Containers[0].ImagePullPolicy
	requireSame(t, base, chart)
}

// With everything on, the chart makes what kustomize makes of the example, and rules, boards, KEDA's login
// and the Job besides.
func TestHelmWithEverything(t *testing.T) {
	example, chart := kustomize(t, "example"), helm(t, everyValue)
	require.ElementsMatch(t, append(example.kinds, "PrometheusRule", "Dashboards", "TriggerAuthentication", "Job",
		"NetworkPolicyOfRefill"),
		chart.kinds)

	job := chart.refill.Spec.Template.Spec
	require.Equal(t, []string{"index", "refill", "--config", "/etc/echosieve/echosieve.yaml", "--from", "input"},
		job.Containers[0].Args)
	require.Equal(t, chart.deployment.Spec.Template.Spec.Volumes, job.Volumes)
	require.Equal(t, chart.deployment.Spec.Template.Spec.Containers[0].VolumeMounts, job.Containers[0].VolumeMounts)
	require.NotEqual(t, chart.service.Spec.Selector, chart.refill.Spec.Template.Labels)
	require.Subset(t, chart.refill.Spec.Template.Labels, chart.refillNetwork.Spec.PodSelector.MatchLabels)
	require.Equal(t, chart.network.Spec.Egress, chart.refillNetwork.Spec.Egress)
	require.Equal(t, chart.network.Spec.PolicyTypes, chart.refillNetwork.Spec.PolicyTypes)
	require.Empty(t, chart.refillNetwork.Spec.Ingress, "nobody asks a Job")

	require.ElementsMatch(t, []string{"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor"},
		chart.stories.kinds)
	of := chart.stories.deployment
	require.Equal(t, []string{"stories", "--trusted", "Post"}, of.Spec.Template.Spec.Containers[0].Args[:3])
	require.Subset(t, chart.stories.service.Labels, chart.stories.serviceMonitor.Spec.Selector.MatchLabels)
	for _, selected := range []map[string]string{chart.stories.service.Spec.Selector, of.Spec.Selector.MatchLabels,
		chart.stories.budget.Spec.Selector.MatchLabels, chart.stories.network.Spec.PodSelector.MatchLabels} {
		require.Subset(t, of.Spec.Template.Labels, selected)
	}

	pod := &chart.deployment.Spec.Template.Spec
	require.Equal(t, "web", pod.Volumes[1].Secret.SecretName)
	require.Equal(t, "/etc/echosieve-web", pod.Containers[0].VolumeMounts[1].MountPath)
	pod.Volumes, pod.Containers[0].VolumeMounts = pod.Volumes[:1], pod.Containers[0].VolumeMounts[:1]
	pod.Containers[0].ImagePullPolicy = ""
	requireSame(t, example, chart)

	trigger := chart.scaled.at("spec.triggers.0").(map[string]any)
	require.Equal(t, chart.authentication.at("metadata.name"), chart.scaled.at("spec.triggers.0.authenticationRef.name"))
	require.Equal(t, "kafka", chart.authentication.at("spec.secretTargetRef.0.name"))
	login := trigger["metadata"].(map[string]any)
	require.Equal(t, []any{"scram_sha512", "enable"}, []any{login["sasl"], login["tls"]})
	delete(login, "sasl")
	delete(login, "tls")
	delete(trigger, "authenticationRef")
	require.Equal(t, example.scaled["spec"], chart.scaled["spec"])

	require.Equal(t, "echosieve", *chart.serviceMonitor.Spec.Endpoints[0].RelabelConfigs[0].Replacement)
	chart.serviceMonitor.Spec.Endpoints[0].RelabelConfigs = nil
	require.Equal(t, example.serviceMonitor.Spec, chart.serviceMonitor.Spec)

	rules := 0
	for _, group := range chart.rules.Spec.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				require.Contains(t, rule.Annotations["runbook_url"], `{{ with "https://wiki.example/runbook" }}`)
				rules++
			}
		}
	}
	require.Equal(t, strings.Count(host.Read(t, "deploy/prometheus/alerts.yml"), "- alert: "), rules)
	require.Equal(t, "1", chart.boards.Labels["grafana_dashboard"])
	for _, board := range []string{"echosieve.json", "echosieve-capacity.json"} {
		require.JSONEq(t, host.Read(t, "deploy/grafana/dashboards/"+board), chart.boards.Data[board])
	}
}

// The schema of the chart's values takes its defaults, refuses values that it does not have, and every secret among
// the settings: the chart would put it into a ConfigMap, which more people may read than a Secret.
func TestHelmSchema(t *testing.T) {
	chart := filepath.Join(host.Root(t), "deploy/helm")
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(chart, "values.schema.json"))
	require.NoError(t, err)
	validate := func(text string) error {
		var values map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &values))
		data, err := json.Marshal(values)
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		return compiled.Validate(value)
	}
	require.NoError(t, validate(host.Read(t, "deploy/helm/values.yaml")))
	require.NoError(t, validate(everyValue))
	for mistake, place := range map[string]string{
		"setings: {window: 24h}":                  "setings",
		"replicas: two":                           "replicas",
		"networkPolicy: {ports: [kafka]}":         "ports",
		"networkPolicy: {port: [9092]}":           "port",
		"settings: [window]":                      "settings",
		"settings: {kafka: {brokrs: [a]}}":        "brokrs",
		"settings: {window: [1h]}":                "window",
		"settings: {kafka: {partitions: 0}}":      "partitions",
		"settings: {http: {console: yes please}}": "console",
	} {
		require.ErrorContains(t, validate(mistake), place, mistake)
	}
	secrets := 0
	for _, k := range config.Schema().Keys() {
		if k.Secret {
			parts := strings.Split(k.Name, ".")
			text := strings.Join(parts, ": {") + ": secret" + strings.Repeat("}", len(parts)-1)
			require.ErrorContains(t, validate("settings: {"+text+"}"), parts[len(parts)-1], text)
			secrets++
		}
	}
	require.Positive(t, secrets)
}
